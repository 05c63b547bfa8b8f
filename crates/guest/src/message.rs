//! Wire messages between the gateway and a guest: JSON in frames. Results and arguments travel as the text they are.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// What a guest says.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FromGuest<'a> {
    pub(crate) kind: GuestKind,
    /// The block it is about; none before the first.
    #[serde(borrow, default)]
    pub(crate) block: Cow<'a, str>,
    /// Of a call: its number within the block.
    #[serde(default)]
    pub(crate) call: u64,
    /// Of a call.
    #[serde(borrow, default)]
    pub(crate) name: Cow<'a, str>,
    /// The arguments of a call, a line of log, or what the block came to.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) body: Option<&'a RawValue>,
}

/// What a message of a guest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum GuestKind {
    /// It has given everything up and waits for a block.
    Ready,
    /// It wants a call to be made.
    Call,
    /// It logs a line.
    Log,
    /// The block ended.
    Done,
}

/// What a guest is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ToGuest<'a> {
    #[serde(borrow)]
    pub(crate) block: Cow<'a, str>,
    /// The call that is answered; none for a new block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) call: Option<u64>,
    /// What a new block is, or the data of an answer.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) body: Option<&'a RawValue>,
    /// Why a call failed.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<Cow<'a, str>>,
}
