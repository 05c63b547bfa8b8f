//! Approval requests and remembered rules: what a request says on the wire, and which rule covers which request.

use protocol::error::Error;
use protocol::proc::approval::{HilRequest, Scope, ScriptFile};
use serde::{Deserialize, Serialize};
use store::approvals::{ApprovalRow, RuleRow};

/// What a question shows besides the call, kept with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Details {
    /// Sentences, the most important first.
    pub(crate) reasons: Vec<String>,
    /// Where the command would run.
    pub(crate) cwd: Option<String>,
    /// The script files it names, as they were.
    pub(crate) files: Vec<ScriptFile>,
}

impl Details {
    /// Those of a request; none of one from before there were any.
    pub(crate) fn of(row: &ApprovalRow) -> Details {
        row.details.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }
}

/// What a shape covers, in words.
pub(crate) fn shape_text(shape: &str, target: &str) -> String {
    format!("{shape} on {target}")
}

/// A request as the wire shows it.
pub(crate) fn request(row: &ApprovalRow) -> HilRequest {
    let Details { reasons, cwd, files } = Details::of(row);
    HilRequest {
        request_id: row.request_id.clone(),
        run_id: row.run_id.clone(),
        conversation_id: Some(row.conversation_id.clone()),
        call_id: row.call_id.clone(),
        tool_name: row.tool_name.clone(),
        syscall: row.syscall.clone(),
        args: serde_json::from_str(&row.args).unwrap_or_default(),
        created_at: row.created_at,
        target: Some(row.target.clone()),
        tags: Some(row.tags.clone()).filter(|tags| !tags.is_empty()),
        shape: row.shape.clone(),
        shape_text: row.shape.as_deref().map(|shape| shape_text(shape, &row.target)),
        reasons: Some(reasons).filter(|reasons| !reasons.is_empty()),
        cwd,
        files: Some(files).filter(|files| !files.is_empty()),
    }
}

/// What is remembered of an approval.
pub(crate) fn rule(
    row: &ApprovalRow,
    scope: Scope,
    approval_id: String,
    now_ms: i64,
) -> Result<RuleRow, Error> {
    let (target, shape) = match scope {
        Scope::Class if row.target == "gsv" => ("gsv", None),
        Scope::Class => ("device", None),
        Scope::Target => (row.target.as_str(), None),
        Scope::Shape if row.shape.is_none() => {
            let why = "this call has no shape to remember; use target or class";
            return Err(Error::bad_argument("proc.hil", "rememberScope", why));
        }
        Scope::Shape => (row.target.as_str(), row.shape.clone()),
    };
    Ok(RuleRow {
        approval_id,
        syscall: row.syscall.clone(),
        scope,
        target: target.to_string(),
        shape,
        created_at: now_ms,
    })
}

/// Whether two rules say the same.
pub(crate) fn is_same(a: &RuleRow, b: &RuleRow) -> bool {
    (&a.syscall, a.scope, &a.shape) == (&b.syscall, b.scope, &b.shape)
        && policy::is_same_target(&a.target, &b.target)
}

/// Whether a rule is about what a request asks for: remembering that request would make the same rule.
pub(crate) fn covers(rule: &RuleRow, row: &ApprovalRow) -> bool {
    self::rule(row, rule.scope, rule.approval_id.clone(), rule.created_at)
        .is_ok_and(|own| is_same(rule, &own))
}
