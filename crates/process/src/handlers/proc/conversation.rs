//! Handlers of `proc.conversation.*`: conversations and their segments.

use protocol::error::Error;
use protocol::outcome::Outcome;
use protocol::proc::conversation::{
    Close, Closed, Get, Got, List, Listed, Open, Opened, PolicyGet, PolicyResult, PolicySet, Reset, ResetDone,
};
use protocol::proc::segment::{
    Compact, Compacted, Fork, Forked, SegmentList, SegmentMessages, SegmentRead, Segments,
};

use super::reach;
use crate::handlers::Cx;

pub(crate) async fn open(cx: Cx, args: Open) -> Result<Outcome<Opened>, Error> {
    let process = reach(&cx, args.pid.as_ref()).await?;
    cx.area.host.conversation_open(&process.pid, &args).await
}

pub(crate) async fn list(cx: Cx, args: List) -> Result<Outcome<Listed>, Error> {
    let process = reach(&cx, args.pid.as_ref()).await?;
    cx.area.host.conversation_list(&process.pid, &args).await
}

pub(crate) async fn get(cx: Cx, args: Get) -> Result<Outcome<Got>, Error> {
    let process = reach(&cx, args.pid.as_ref()).await?;
    cx.area.host.conversation_get(&process.pid, &args).await
}

pub(crate) async fn close(cx: Cx, args: Close) -> Result<Outcome<Closed>, Error> {
    let process = reach(&cx, args.pid.as_ref()).await?;
    cx.area.host.conversation_close(&process.pid, &args).await
}

pub(crate) async fn reset(cx: Cx, args: Reset) -> Result<Outcome<ResetDone>, Error> {
    let process = reach(&cx, args.pid.as_ref()).await?;
    cx.area.host.reset_conversation(&process.pid, args).await
}

pub(crate) async fn policy_get(cx: Cx, args: PolicyGet) -> Result<Outcome<PolicyResult>, Error> {
    let process = reach(&cx, args.pid.as_ref()).await?;
    cx.area.host.policy_get(&process.pid, &args).await
}

pub(crate) async fn policy_set(cx: Cx, args: PolicySet) -> Result<Outcome<PolicyResult>, Error> {
    let process = reach(&cx, args.pid.as_ref()).await?;
    cx.area.host.policy_set(&process.pid, &args).await
}

pub(crate) async fn compact(cx: Cx, args: Compact) -> Result<Outcome<Compacted>, Error> {
    let process = reach(&cx, args.pid.as_ref()).await?;
    cx.area.host.compact(&process.pid, &args).await
}

pub(crate) async fn fork(cx: Cx, args: Fork) -> Result<Outcome<Forked>, Error> {
    let process = reach(&cx, args.pid.as_ref()).await?;
    cx.area.host.fork(&process.pid, &args).await
}

pub(crate) async fn segments(cx: Cx, args: Segments) -> Result<Outcome<SegmentList>, Error> {
    let process = reach(&cx, args.pid.as_ref()).await?;
    cx.area.host.segments(&process.pid, &args).await
}

pub(crate) async fn segment_read(cx: Cx, args: SegmentRead) -> Result<Outcome<SegmentMessages>, Error> {
    let process = reach(&cx, args.pid.as_ref()).await?;
    cx.area.host.segment_read(&process.pid, &args).await
}
