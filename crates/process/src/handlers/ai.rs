//! Handlers of `ai.config`, and of speech both ways.

use protocol::ai::{Config, ConfigResult, Speak, Speech, Transcribe, Transcription};
use protocol::error::Error;

use super::Cx;
use crate::errors::not_found;

pub(crate) async fn config(cx: Cx, args: Config) -> Result<ConfigResult, Error> {
    let pid = cx.caller.origin.pid().ok_or_else(|| Error::permission_denied("ai.config"))?;
    let row = cx.area.gateway.store().processes().by_id(pid).await?;
    let row = row.ok_or_else(|| not_found(pid))?;
    cx.area.host.ai_config(&row, args.profile.as_ref().map(|profile| profile.as_str())).await
}

pub(crate) async fn transcribe(cx: Cx, args: Transcribe) -> Result<Transcription, Error> {
    cx.area.host.transcribe(cx.caller.uid(), args).await
}

pub(crate) async fn speak(cx: Cx, args: Speak) -> Result<Speech, Error> {
    cx.area.host.speak(cx.caller.uid(), args).await
}
