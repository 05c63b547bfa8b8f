//! One block, as the gateway sees it: checked, handed to a guest, and its end put into the words of `codemode.*`.

use base::limits::codemode as limits;
use gateway::Gateway;
use guest::{Block, CallNote, Pool, Report, Tenant};
use protocol::calls::Calls;
use protocol::codemode::ExecResult;
use serde_json::Value;

use crate::program::{Ended, Program};
use crate::settings::Settings;

/// The calls that blocks may make.
const MAY_CALL: &[&str] =
    &["fs.read", "fs.write", "fs.edit", "fs.delete", "fs.search", "shell.exec", "sys.mcp.call"];

/// What a block is given.
#[derive(Default)]
pub(crate) struct Given {
    pub(crate) code: String,
    pub(crate) target: Option<String>,
    pub(crate) cwd: Option<String>,
    pub(crate) argv: Vec<String>,
    pub(crate) args: Value,
}

/// What blocks run with.
pub(crate) struct Blocks {
    pub(crate) gateway: Gateway,
    pub(crate) pool: Pool,
    pub(crate) settings: Settings,
}

impl Blocks {
    /// Runs a block. One of an agent has no time limit here beside its own: its run has.
    pub(crate) async fn run(
        &self,
        tenant: Tenant,
        calls: &Calls,
        given: Given,
        is_agents: bool,
        is_abandoned: impl Fn() -> bool + Send,
    ) -> ExecResult {
        if given.code.trim().is_empty() {
            let name = if is_agents { "CodeMode" } else { "codemode" };
            return failed(format!("{name} requires a non-empty code string"), Vec::new());
        }
        if given.code.len() > limits::CODE_MAX_BYTES {
            return failed(format!("The code is longer than {} bytes", limits::CODE_MAX_BYTES), Vec::new());
        }
        let own_time = self.settings.own_time();
        let program = Program {
            code: given.code,
            argv: given.argv,
            args: given.args,
            target: given.target.filter(|target| !target.is_empty()),
            cwd: given.cwd.filter(|cwd| !cwd.is_empty()),
            mcp_tools: Vec::new(),
            slice_ms: u64::try_from(own_time.as_millis()).unwrap_or(u64::MAX),
            heap_bytes: self.settings.heap_bytes(),
        };
        let block = Block {
            id: self.gateway.random().uuid(),
            tenant,
            body: protocol::frame::to_json(&program),
            may_call: MAY_CALL,
            own_time,
            total: (!is_agents).then_some(limits::TOTAL),
            log: (limits::LOG_LINES_MAX, limits::LOG_MAX_BYTES),
        };
        let (id, uid) = (block.id.clone(), block.tenant.uid);
        let report = block.run(&self.pool, calls, is_abandoned).await;
        if let Err(why) = &report.outcome {
            tracing::info!(block = id, %uid, %why, "a block was ended");
        }
        result(report, is_agents)
    }
}

/// How a block ended, in the words of the protocol.
fn result(report: Report, is_agents: bool) -> ExecResult {
    let Report { outcome, logs, calls } = report;
    let ended = match outcome {
        Ok(text) => {
            serde_json::from_str::<Ended>(&text).map_err(|error| format!("the sandbox lied: {error}"))
        }
        Err(failure) => Err(failure.to_string()),
    };
    let why = match ended {
        Ok(Ended::Returned(text)) if text.len() > limits::RESULT_MAX_BYTES => {
            format!("The result is larger than {} bytes of JSON", limits::RESULT_MAX_BYTES)
        }
        Ok(Ended::Returned(text)) if text.is_empty() => {
            return ExecResult::Completed { result: None, logs: some(logs) };
        }
        Ok(Ended::Returned(text)) => match serde_json::from_str(&text) {
            Ok(result) => return ExecResult::Completed { result: Some(result), logs: some(logs) },
            Err(error) => format!("The result is not JSON: {error}"),
        },
        Ok(Ended::Threw(why)) | Err(why) => why,
    };
    failed(if is_agents { why + &done_before(&calls) } else { why }, logs)
}

fn failed(mut error: String, logs: Vec<String>) -> ExecResult {
    error.truncate(error.floor_char_boundary(limits::ERROR_MAX_BYTES));
    ExecResult::Failed { error, logs: some(logs) }
}

fn some(logs: Vec<String>) -> Option<Vec<String>> {
    Some(logs).filter(|logs| !logs.is_empty())
}

/// What a block that failed had changed before, so that a model goes on from there and does not do it again.
fn done_before(calls: &[CallNote]) -> String {
    let only_reads = |name: &str| protocol::spec(name).is_some_and(protocol::spec::Spec::only_reads);
    let mut changing = calls.iter().filter(|call| !only_reads(&call.name)).peekable();
    if changing.peek().is_none() {
        return String::new();
    }
    let mut text = "\nWhat the block had called before it failed, and what is not undone:".to_string();
    for call in changing.by_ref().take(limits::DONE_LISTED_MAX) {
        let how = match &call.result {
            Some(Ok(())) => "answered".to_string(),
            Some(Err(why)) => format!("failed: {}", why.lines().next().unwrap_or_default()),
            None => "its outcome is not known".to_string(),
        };
        text += &format!("\n- {} {} ({how})", call.name, call.args);
    }
    match changing.count() {
        0 => text,
        more => text + &format!("\n- and {more} more"),
    }
}
