//! Id newtypes, each a plain string or number on the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! numbers {
    ($($(#[$meta:meta])* $name:ident;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        #[schemars(inline)]
        pub struct $name(pub u32);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

macro_rules! texts {
    ($($(#[$meta:meta])* $name:ident;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        #[schemars(inline)]
        pub struct $name(pub String);

        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                $name(text.to_string())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                $name(text)
            }
        }
    )*};
}

numbers! {
    /// A user's number. Root is 0.
    Uid;
    /// A group's number.
    Gid;
}

texts! {
    /// A device, such as `macbook`.
    DeviceId;
    /// A shell session, such as `sh_…`.
    SessionId;
    /// A login token's public id.
    TokenId;
    /// A process: `init:<uid>` or a UUID.
    Pid;
    /// One run of a process.
    RunId;
    /// A conversation within a process.
    ConversationId;
}

impl Uid {
    /// The superuser.
    pub const ROOT: Uid = Uid(0);

    /// True for root.
    pub fn is_root(self) -> bool {
        self == Uid::ROOT
    }
}

impl Gid {
    /// Root's group.
    pub const ROOT: Gid = Gid(0);
    /// Every user is in it.
    pub const USERS: Gid = Gid(100);
    /// Named for drivers; driver connections hold no capabilities.
    pub const DRIVERS: Gid = Gid(101);
    /// Service connections hold this group's capabilities.
    pub const SERVICES: Gid = Gid(102);
}
