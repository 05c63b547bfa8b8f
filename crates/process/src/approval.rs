//! Approval requests and remembered rules: what a request says on the wire, and which rule covers which request.

use protocol::confine::Widening;
use protocol::error::Error;
use protocol::proc::approval::{HilRequest, Scope, ScriptFile};
use protocol::spec::Syscall as _;
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
    /// What would have to be opened in the sandbox.
    pub(crate) widening: Option<Widening>,
    /// What is remembered of the shape of a call that runs with that.
    pub(crate) widened_shape: Option<String>,
    /// What is remembered of each of its hosts, where hosts are all of it.
    pub(crate) host_shapes: Vec<String>,
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
    let Details { reasons, cwd, files, widening, widened_shape, host_shapes } = Details::of(row);
    // What is approved without another word runs with the widening, and so does what is remembered of it.
    let shape = if widening.is_some() { widened_shape } else { row.shape.clone() };
    HilRequest {
        request_id: row.request_id.clone(),
        run_id: row.run_id.clone(),
        conversation_id: Some(row.conversation_id.clone()),
        call_id: row.call_id.clone(),
        parent_call_id: row.parent_call_id.clone(),
        tool_name: row.tool_name.clone(),
        syscall: row.syscall.clone(),
        args: serde_json::from_str(&row.args).unwrap_or_default(),
        created_at: row.created_at,
        target: Some(row.target.clone()),
        tags: Some(row.tags.clone()).filter(|tags| !tags.is_empty()),
        shape_text: shape.as_deref().map(|shape| shape_text(shape, &row.target)),
        shape,
        widening_text: widening.as_ref().map(Widening::words),
        widening,
        hosts_text: (!host_shapes.is_empty()).then(|| shape_text(&host_shapes.join(", "), &row.target)),
        reasons: Some(reasons).filter(|reasons| !reasons.is_empty()),
        cwd,
        files: Some(files).filter(|files| !files.is_empty()),
    }
}

/// Whether an approval is for outside of the sandbox: all that was ever offered, what was asked for, or what is so wide
/// that no widening could be said for it.
pub(crate) fn is_outside(row: &ApprovalRow, outside: Option<bool>, scope: Option<Scope>) -> bool {
    let is_wide = matches!(scope, Some(Scope::Target | Scope::Class));
    Details::of(row).widening.is_none() || outside == Some(true) || is_wide
}

/// What is remembered of an approval: one rule, or one for each host. `outside` as [`is_outside`] says.
pub(crate) fn rules(
    row: &ApprovalRow,
    scope: Scope,
    outside: bool,
    mut approval_id: impl FnMut() -> String,
    now_ms: i64,
) -> Result<Vec<RuleRow>, Error> {
    let details = Details::of(row);
    let bad = |why: &str| Err(Error::bad_argument("proc.hil", "rememberScope", why));
    // A tool of an MCP server is remembered as it is described now, never all tools of all servers.
    let is_mcp = row.syscall == protocol::sys::mcp::Call::SPEC.name;
    let scope = if is_mcp && matches!(scope, Scope::Class | Scope::Target) { Scope::Shape } else { scope };
    let (target, shapes) = match scope {
        Scope::Class if row.target == "gsv" => ("gsv", vec![None]),
        Scope::Class => ("device", vec![None]),
        Scope::Target => (row.target.as_str(), vec![None]),
        Scope::Shape => match if outside { row.shape.clone() } else { details.widened_shape } {
            Some(shape) => (row.target.as_str(), vec![Some(shape)]),
            None => return bad("this call has no shape to remember; use target or class"),
        },
        Scope::Hosts if outside => return bad("hosts are opened inside the sandbox; leave outside away"),
        Scope::Hosts if details.host_shapes.is_empty() => {
            return bad("this call needs no hosts alone that could be remembered");
        }
        Scope::Hosts => (row.target.as_str(), details.host_shapes.into_iter().map(Some).collect()),
    };
    let rule = |shape| RuleRow {
        approval_id: approval_id(),
        syscall: row.syscall.clone(),
        scope,
        target: target.to_string(),
        shape,
        created_at: now_ms,
    };
    Ok(shapes.into_iter().map(rule).collect())
}

/// Whether two rules say the same.
pub(crate) fn is_same(a: &RuleRow, b: &RuleRow) -> bool {
    (&a.syscall, a.scope, &a.shape) == (&b.syscall, b.scope, &b.shape)
        && policy::is_same_target(&a.target, &b.target)
}

/// Whether rules cover what a request asks for: remembering that request would add nothing to them. `Some(true)` when
/// they let it run outside of the sandbox, `Some(false)` inside it.
pub(crate) fn covers(rules: &[RuleRow], row: &ApprovalRow) -> Option<bool> {
    let is_known = |own: &RuleRow| rules.iter().any(|rule| is_same(rule, own));
    let covered = |scope: Scope, outside: bool| {
        let own = self::rules(row, scope, outside, String::new, 0);
        own.is_ok_and(|own| own.iter().all(is_known))
    };
    let has_widening = Details::of(row).widening.is_some();
    if has_widening && (covered(Scope::Hosts, false) || covered(Scope::Shape, false)) {
        return Some(false);
    }
    [Scope::Shape, Scope::Target, Scope::Class].iter().any(|scope| covered(*scope, true)).then_some(true)
}
