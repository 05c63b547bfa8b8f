//! Calls of the protocol by name: what they do.

use super::tags::Tags;

const DESTROY: Tags = Tags::DESTRUCTIVE.and(Tags::MUTATING);
const RULE: Tags = Tags::PRIVILEGED.and(Tags::MUTATING);

/// What is to be said of a call whatever its arguments are.
pub(super) fn tags(name: &str) -> Tags {
    match name {
        "fs.delete" => DESTROY,
        "fs.write" | "fs.edit" | "fs.push" => Tags::MUTATING,
        "sys.mcp.call" => Tags::NETWORK | Tags::OPAQUE,
        "codemode.exec" | "codemode.run" => Tags::OPAQUE,
        "sys.user.list"
        | "sys.group.list"
        | "sys.capability.list"
        | "sys.token.list"
        | "sys.device.list"
        | "sys.device.get"
        | "sys.config.get"
        | "sys.link.list"
        | "sys.mcp.list"
        | "sys.oauth.list"
        | "sys.workspace.list" => Tags::NONE,
        "sys.user.remove" | "sys.group.remove" | "sys.token.revoke" | "sys.mcp.remove"
        | "sys.oauth.forget" => RULE | DESTROY,
        // An agent that answers for a person, or makes it that nobody is asked.
        "proc.hil" | "proc.approvals.revoke" | "proc.setidentity" => RULE,
        "proc.kill"
        | "proc.reset"
        | "proc.abort"
        | "proc.conversation.reset"
        | "proc.conversation.close"
        | "proc.conversation.compact" => DESTROY,
        "proc.spawn"
        | "proc.send"
        | "proc.ipc.send"
        | "proc.ipc.call"
        | "proc.ipc.deliver"
        | "proc.conversation.open"
        | "proc.conversation.fork"
        | "proc.conversation.policy.set" => Tags::MUTATING,
        "pkg.remove" | "pkg.remote.remove" => DESTROY | Tags::PRIVILEGED,
        "pkg.list" | "pkg.remote.list" | "pkg.public.list" => Tags::NONE,
        "repo.create" | "repo.apply" => Tags::MUTATING,
        "repo.import" => Tags::MUTATING | Tags::NETWORK,
        "sched.remove" => DESTROY,
        "sched.add" | "sched.update" | "sched.run" => Tags::MUTATING,
        "adapter.connect" | "adapter.disconnect" => RULE | Tags::NETWORK,
        "adapter.send" => Tags::MUTATING | Tags::NETWORK,
        "notification.create" | "notification.mark_read" | "notification.dismiss" => Tags::MUTATING,
        "ai.transcription.create" | "ai.speech.create" => Tags::NETWORK,
        _ if name.starts_with("sys.") || name.starts_with("pkg.") => RULE,
        _ if protocol::spec(name).is_none() => Tags::OPAQUE,
        _ => Tags::NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_that_is_listed_exists() {
        let source = include_str!("calls.rs");
        let body = source.split("#[cfg(test)]").next().unwrap_or_default();
        let names =
            body.split('"').skip(1).step_by(2).filter(|name| name.contains('.') && !name.ends_with('.'));
        let mut count = 0;
        for name in names {
            assert!(protocol::spec(name).is_some(), "{name}");
            count += 1;
        }
        assert!(count > 40, "{count}");
    }

    #[test]
    fn what_changes_the_gateway_is_privileged() {
        for spec in protocol::calls() {
            let last = spec.name.rsplit('.').next().unwrap_or_default();
            let reads = matches!(
                last,
                "list" | "get" | "read" | "search" | "log" | "refs" | "diff" | "compare" | "history"
            );
            if reads {
                assert!(!tags(spec.name).intersects(RULE), "{}", spec.name);
            } else if spec.name.starts_with("sys.") && spec.name != "sys.mcp.call" {
                assert!(tags(spec.name).contains(RULE), "{}", spec.name);
            }
        }
        assert_eq!(tags("no.such.call"), Tags::OPAQUE);
    }
}
