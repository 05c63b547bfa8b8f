//! Answers to an approval question: what each covers, and what a typed one means.

use protocol::proc::approval::{Decision, HilRequest, Scope};
use terminal::exact;

use super::tools;

/// An answer to a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// This call, inside the sandbox where the question says what would be opened in it.
    Once,
    /// This call, outside of the sandbox.
    Outside,
    /// From now on, for what the scope covers.
    Always(Scope),
    /// No.
    Deny,
}

impl Answer {
    /// For `proc.hil`.
    pub fn decision(self) -> Decision {
        match self {
            Answer::Once | Answer::Outside | Answer::Always(_) => Decision::Approve,
            Answer::Deny => Decision::Deny,
        }
    }

    /// What is remembered.
    pub fn scope(self) -> Option<Scope> {
        match self {
            Answer::Always(scope) => Some(scope),
            Answer::Once | Answer::Outside | Answer::Deny => None,
        }
    }

    /// Whether the sandbox is left, although it could have been opened.
    pub fn outside(self) -> Option<bool> {
        (self == Answer::Outside).then_some(true)
    }

    /// For the person who answered.
    pub fn told(self, request: &HilRequest) -> String {
        match self {
            Answer::Once if request.widening.is_some() => "approved once, inside the sandbox".to_string(),
            Answer::Once => "approved once".to_string(),
            Answer::Outside => "approved once, outside the sandbox".to_string(),
            Answer::Deny => "denied".to_string(),
            Answer::Always(scope) => format!("approved always: {}", coverage(request, scope)),
        }
    }
}

/// What a remembered approval of this call would cover.
pub fn coverage(request: &HilRequest, scope: Scope) -> String {
    let target = target(request);
    let call = exact::line(&request.syscall);
    match scope {
        Scope::Shape => match (&request.shape_text, &request.shape) {
            (Some(words), _) => exact::line(words),
            (None, Some(shape)) => format!("{} on {target}", exact::line(shape)),
            (None, None) => format!("{call} on {target}"),
        },
        Scope::Hosts => match &request.hosts_text {
            Some(words) => exact::line(words),
            None => format!("the hosts of {call} on {target}"),
        },
        Scope::Target => format!("every {call} on {target}"),
        Scope::Class if target == "gsv" => format!("every {call} on gsv"),
        Scope::Class => format!("every {call} on every device"),
    }
}

/// Where a call would run.
pub fn target(request: &HilRequest) -> String {
    let named = request.target.as_deref().or_else(|| tools::target(&request.syscall, &request.args));
    exact::line(named.unwrap_or("gsv"))
}

/// The scopes that a key chooses, the narrowest first. Every device at once is not among them: that takes
/// `gsv approvals approve --remember class --every-device`.
pub fn scopes(request: &HilRequest) -> Vec<Scope> {
    let shape = request.shape.is_some().then_some(Scope::Shape);
    let hosts = request.hosts_text.is_some().then_some(Scope::Hosts);
    shape.into_iter().chain(hosts).chain([Scope::Target]).collect()
}

/// The key that chooses a scope.
pub fn key(scope: Scope) -> char {
    match scope {
        Scope::Shape => 's',
        Scope::Hosts => 'h',
        Scope::Target => 't',
        Scope::Class => 'c',
    }
}

/// The key that leaves the sandbox.
pub const OUTSIDE: char = 'u';

/// What somebody typed at a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reply {
    /// The question is decided.
    Answer(Answer),
    /// Show everything, or less again.
    Fold,
    /// Show what it would do.
    Rehearse,
    /// Put in place what the rehearsal did.
    PutInPlace,
    /// Leave it for later.
    Later,
    /// Say what the keys mean.
    Help,
}

/// What the keys mean.
pub const HELP: &str = "  y  approve this call, once; inside the sandbox where the question says what is opened in it\n  n  deny it\n  s  \
     approve it, and do not ask again for what is said above\n  h  approve it, and let confined commands there reach these \
     hosts from now on\n  u  approve it once, outside the sandbox\n  t  approve it, and every such call on this target, \
     outside the sandbox\n  f  show everything, or less again\n  r  show what it would do, where its device can rehearse; \
     nothing changes\n  p  after that: put exactly this in place, without running it again\n  l  leave it for later\n";

/// The prompt for the answer; `more` are further keys.
pub fn answer_prompt(request: &HilRequest, more: &[char]) -> String {
    let keys: String = scopes(request)
        .into_iter()
        .map(key)
        .chain(request.widening.is_some().then_some(OUTSIDE))
        .chain(more.iter().copied())
        .map(|key| format!("/{key}"))
        .collect();
    format!("Allow? [y/n{keys}] ")
}

/// What a typed answer means; `None` when it must be asked again.
pub fn parse(request: &HilRequest, typed: &str) -> Option<Reply> {
    let typed = typed.trim().to_ascii_lowercase();
    let scopes = scopes(request);
    let always = |scope: Scope| Some(Reply::Answer(Answer::Always(scope)));
    match typed.as_str() {
        "y" | "yes" | "o" | "once" | "approve" => Some(Reply::Answer(Answer::Once)),
        "u" | "unconfined" | "outside" if request.widening.is_some() => Some(Reply::Answer(Answer::Outside)),
        "n" | "no" | "d" | "deny" => Some(Reply::Answer(Answer::Deny)),
        "f" | "fold" | "unfold" => Some(Reply::Fold),
        "r" | "rehearse" => Some(Reply::Rehearse),
        "p" | "put" => Some(Reply::PutInPlace),
        "l" | "later" => Some(Reply::Later),
        "?" | "help" => Some(Reply::Help),
        "h" if !scopes.contains(&Scope::Hosts) => Some(Reply::Help),
        // Only the narrowest is meant by a word that does not say how wide.
        "a" | "always" => {
            scopes.first().filter(|scope| **scope == Scope::Shape).and_then(|scope| always(*scope))
        }
        typed => {
            let named = |scope: &&Scope| typed == key(**scope).to_string() || typed == name(**scope);
            scopes.iter().find(named).and_then(|scope| always(*scope))
        }
    }
}

/// A scope's name on the wire.
pub fn name(scope: Scope) -> &'static str {
    match scope {
        Scope::Shape => "shape",
        Scope::Hosts => "hosts",
        Scope::Target => "target",
        Scope::Class => "class",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(target: &str, shape: Option<&str>) -> HilRequest {
        serde_json::from_value(json!({
            "requestId": "a1", "runId": "r", "callId": "c", "toolName": "Shell", "syscall": "shell.exec",
            "args": { "input": "rm x", "target": target }, "createdAt": 1, "target": target, "shape": shape,
        }))
        .unwrap()
    }

    #[test]
    fn the_widest_comes_last_and_every_device_has_no_key() {
        let desk = request("desk", Some("rm of a single plain file in /srv/x"));
        assert_eq!(scopes(&desk), [Scope::Shape, Scope::Target]);
        assert_eq!(coverage(&desk, Scope::Shape), "rm of a single plain file in /srv/x on desk");
        assert_eq!(coverage(&desk, Scope::Target), "every shell.exec on desk");
        for typed in ["c", "class", "every"] {
            assert_eq!(parse(&desk, typed), None, "{typed}");
        }
        assert_eq!(scopes(&request("gsv", None)), [Scope::Target]);
        assert_eq!(answer_prompt(&request("gsv", None), &[]), "Allow? [y/n/t] ");
        assert_eq!(answer_prompt(&desk, &['f', '?']), "Allow? [y/n/s/t/f/?] ");
    }

    #[test]
    fn answers_mean_what_they_say() {
        let request = request("desk", Some("rm of a single plain file in /srv/x"));
        for (typed, reply) in [
            ("y", Some(Reply::Answer(Answer::Once))),
            (" Yes ", Some(Reply::Answer(Answer::Once))),
            ("n", Some(Reply::Answer(Answer::Deny))),
            ("a", Some(Reply::Answer(Answer::Always(Scope::Shape)))),
            ("target", Some(Reply::Answer(Answer::Always(Scope::Target)))),
            ("F", Some(Reply::Fold)),
            ("?", Some(Reply::Help)),
            ("", None),
            ("maybe", None),
        ] {
            assert_eq!(parse(&request, typed), reply, "{typed}");
        }
    }

    #[test]
    fn always_alone_is_never_every_call() {
        assert_eq!(parse(&request("desk", None), "a"), None);
    }

    #[test]
    fn the_sandbox_is_left_by_a_key_of_its_own() {
        let mut request = request("desk", Some("exactly 'curl example.org' in /w, inside"));
        assert_eq!(parse(&request, "u"), None);
        assert_eq!(answer_prompt(&request, &[]), "Allow? [y/n/s/t] ");
        request.widening = serde_json::from_value(json!({ "hosts": ["example.org"] })).unwrap();
        request.hosts_text = Some("reaching example.org from confined commands in /w on desk".to_string());
        assert_eq!(scopes(&request), [Scope::Shape, Scope::Hosts, Scope::Target]);
        assert_eq!(answer_prompt(&request, &[]), "Allow? [y/n/s/h/t/u] ");
        assert_eq!(parse(&request, "u"), Some(Reply::Answer(Answer::Outside)));
        assert_eq!(parse(&request, "once"), Some(Reply::Answer(Answer::Once)));
        assert_eq!(parse(&request, "h"), Some(Reply::Answer(Answer::Always(Scope::Hosts))));
        assert_eq!((Answer::Outside.outside(), Answer::Once.outside()), (Some(true), None));
        assert!(coverage(&request, Scope::Hosts).starts_with("reaching example.org"));
    }
}
