//! Approval prompt of a tool call: what is asked, what the answers cover, and what an answer means.

use protocol::proc::approval::{Decision, HilRequest, Scope};
use terminal::escape;
use terminal::layout::{Style, YELLOW};

use super::look::Look;
use super::tools;

/// An answer to a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    Once,
    /// From now on, for what the scope covers.
    Always(Scope),
    /// No.
    Deny,
}

impl Answer {
    /// For `proc.hil`.
    pub fn decision(self) -> Decision {
        match self {
            Answer::Once | Answer::Always(_) => Decision::Approve,
            Answer::Deny => Decision::Deny,
        }
    }

    /// What is remembered.
    pub fn scope(self) -> Option<Scope> {
        match self {
            Answer::Always(scope) => Some(scope),
            Answer::Once | Answer::Deny => None,
        }
    }

    /// For the person who answered.
    pub fn told(self, request: &HilRequest) -> String {
        match self {
            Answer::Once => "approved once".to_string(),
            Answer::Deny => "denied".to_string(),
            Answer::Always(scope) => format!("approved always: {}", coverage(request, scope)),
        }
    }
}

/// What a remembered approval of this call would cover.
pub fn coverage(request: &HilRequest, scope: Scope) -> String {
    let target = target(request);
    let call = &request.syscall;
    match scope {
        Scope::Shape => {
            let shape = request.shape.as_deref().unwrap_or(call);
            format!("{} on {target}", escape::line(shape))
        }
        Scope::Target => format!("every {} on {target}", escape::line(call)),
        Scope::Class if target == "gsv" => format!("every {} on gsv", escape::line(call)),
        Scope::Class => format!("every {} on every device", escape::line(call)),
    }
}

fn target(request: &HilRequest) -> String {
    let named = request.target.as_deref().or_else(|| tools::target(&request.syscall, &request.args));
    escape::line(named.unwrap_or("gsv"))
}

/// The scopes that can be chosen, the narrowest first; on `gsv` target and class are the same.
pub fn scopes(request: &HilRequest) -> Vec<Scope> {
    let mut scopes = Vec::new();
    if request.shape.is_some() {
        scopes.push(Scope::Shape);
    }
    scopes.push(Scope::Target);
    if target(request) != "gsv" {
        scopes.push(Scope::Class);
    }
    scopes
}

/// The key that chooses a scope.
fn answer_key(scope: Scope) -> char {
    match scope {
        Scope::Shape => 's',
        Scope::Target => 't',
        Scope::Class => 'c',
    }
}

/// The question with everything that is asked about.
pub fn question(request: &HilRequest, look: Look) -> String {
    let name = if request.tool_name.is_empty() { &request.syscall } else { &request.tool_name };
    let tags = request.tags.as_ref().filter(|tags| !tags.is_empty());
    let why = tags.map_or_else(String::new, |tags| format!(" ({})", escape::line(&tags.join(", "))));
    let title = format!("{} on {} asks for approval{why}", escape::line(name), target(request));
    let mut out =
        format!("{}\n", look.paint(Style { bold: true, ..Style::colour(YELLOW) }, &format!("? {title}")));
    let changes = tools::changes(&request.syscall, &request.args, look);
    if changes.is_empty() || request.syscall == "fs.write" {
        out.push_str(&tools::in_full(&request.syscall, &request.args, look));
    } else {
        let path = request.args.get("path").and_then(serde_json::Value::as_str).unwrap_or_default();
        out.push_str(&format!("    {}\n{changes}", look.paint(Style::BOLD, &escape::line(path))));
    }
    out.push_str("  [y] approve once   [n] deny\n");
    for scope in scopes(request) {
        out.push_str(&format!("  [{}] always: {}\n", answer_key(scope), coverage(request, scope)));
    }
    out
}

/// The prompt with the letters that this request takes.
pub fn answer_prompt(request: &HilRequest) -> String {
    let keys: String = scopes(request).into_iter().map(|scope| format!("/{}", answer_key(scope))).collect();
    format!("Allow? [y/n{keys}] ")
}

/// What a typed answer means; `None` when it must be asked again.
pub fn parse(request: &HilRequest, typed: &str) -> Option<Answer> {
    let typed = typed.trim().to_ascii_lowercase();
    let scopes = scopes(request);
    match typed.as_str() {
        "y" | "yes" | "o" | "once" | "approve" => Some(Answer::Once),
        "n" | "no" | "d" | "deny" => Some(Answer::Deny),
        "a" | "always" => scopes.first().map(|scope| Answer::Always(*scope)),
        typed => {
            let named = |scope: &&Scope| typed == answer_key(**scope).to_string() || typed == name(**scope);
            scopes.iter().find(named).map(|scope| Answer::Always(*scope))
        }
    }
}

/// A scope's name on the wire.
pub fn name(scope: Scope) -> &'static str {
    match scope {
        Scope::Shape => "shape",
        Scope::Target => "target",
        Scope::Class => "class",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PLAIN: Look = Look { colour: false, columns: Some(80) };

    fn request(target: &str, shape: Option<&str>) -> HilRequest {
        serde_json::from_value(json!({
            "requestId": "a1", "runId": "r", "callId": "c", "toolName": "Shell", "syscall": "shell.exec",
            "args": { "input": "rm -rf build\u{1b}[8m", "target": target }, "createdAt": 1, "target": target,
            "tags": ["destructive"], "shape": shape,
        }))
        .unwrap()
    }

    #[test]
    fn the_question_shows_everything_and_what_each_answer_covers() {
        let text = question(&request("desk", Some("rm -rf *")), PLAIN);
        assert_eq!(
            text,
            "? Shell on desk asks for approval (destructive)\n    rm -rf build␛[8m\n  [y] approve once   [n] deny\n  \
             [s] always: rm -rf * on desk\n  [t] always: every shell.exec on desk\n  \
             [c] always: every shell.exec on every device\n"
        );
    }

    #[test]
    fn on_the_gateway_target_and_class_are_one() {
        assert_eq!(scopes(&request("gsv", None)), [Scope::Target]);
        assert_eq!(parse(&request("gsv", None), "c"), None);
        assert_eq!(answer_prompt(&request("gsv", None)), "Allow? [y/n/t] ");
    }

    #[test]
    fn answers_mean_what_they_say() {
        let request = request("desk", Some("rm -rf *"));
        for (typed, answer) in [
            ("y", Some(Answer::Once)),
            (" Yes ", Some(Answer::Once)),
            ("n", Some(Answer::Deny)),
            ("a", Some(Answer::Always(Scope::Shape))),
            ("target", Some(Answer::Always(Scope::Target))),
            ("c", Some(Answer::Always(Scope::Class))),
            ("", None),
            ("maybe", None),
        ] {
            assert_eq!(parse(&request, typed), answer, "{typed}");
        }
    }
}
