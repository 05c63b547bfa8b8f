//! Classification of calls by their rows: the tags that follow from a call's effects.

use protocol::spec::{Effect, Spec, Syscall};

use super::tags::Tags;

/// The call of an MCP server's tool.
pub(super) const MCP_CALL: &str = protocol::sys::mcp::Call::SPEC.name;

/// What is to be said of a call whatever its arguments are.
pub(super) fn tags(name: &str) -> Tags {
    // What a command does is found out by reading it.
    if name == protocol::shell::Exec::SPEC.name {
        return Tags::NONE;
    }
    match protocol::spec(name) {
        Some(spec) => of_row(spec),
        // Nothing is known of it but its domain: it is opaque, and as bad as anything there.
        None => {
            let domain = name.split('.').next();
            let others = protocol::calls().filter(|spec| Some(spec.domain()) == domain);
            others.fold(Tags::OPAQUE, |tags, spec| tags | of_row(spec))
        }
    }
}

fn of_row(spec: &Spec) -> Tags {
    spec.effects.iter().fold(Tags::NONE, |tags, effect| {
        tags | match effect {
            Effect::Reads => Tags::NONE,
            Effect::Writes => Tags::MUTATING,
            Effect::Destroys => Tags::DESTRUCTIVE | Tags::MUTATING,
            Effect::Rules => Tags::PRIVILEGED | Tags::MUTATING,
            Effect::Opaque => Tags::OPAQUE,
            Effect::Network => Tags::NETWORK,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tags of every call, as letters: D destructive, P privileged, N network, M mutating, O opaque.
    #[rustfmt::skip]
    const TABLE: &[(&str, &str)] = &[
        ("", "fs.read fs.search fs.pull fs.history fs.history.read shell.exec adapter.status ai.config ai.tools \
              sys.user.list sys.group.list sys.capability.list sys.token.list sys.device.list sys.device.get \
              sys.config.get sys.link.list sys.mcp.list sys.oauth.list sys.workspace.list \
              pkg.list pkg.remote.list pkg.public.list \
              repo.list repo.refs repo.read repo.search repo.log repo.diff repo.compare sched.list notification.list \
              proc.list proc.profile.list proc.approvals.list proc.approvals.pending proc.history proc.media.read \
              proc.conversation.list proc.conversation.get proc.conversation.policy.get \
              proc.conversation.segment.read proc.conversation.segments proc.cost"),
        ("M", "fs.write fs.edit fs.push fs.restore fs.undo proc.undo proc.spawn proc.send proc.ipc.send proc.ipc.call proc.ipc.deliver \
               proc.conversation.open proc.conversation.fork proc.conversation.policy.set repo.create repo.apply \
               sched.add sched.update sched.run notification.create notification.mark_read notification.dismiss \
               adapter.inbound adapter.state.update signal.watch signal.unwatch \
               sys.workspace.create sys.workspace.restore"),
        ("DM", "fs.delete proc.kill proc.reset proc.abort proc.conversation.reset proc.conversation.close \
                proc.conversation.compact sched.remove sys.workspace.archive"),
        ("PM", "proc.hil proc.approvals.revoke proc.setidentity \
                sys.connect sys.setup sys.setup.assist sys.config.set sys.bootstrap sys.device.update \
                sys.device.access sys.oauth.start sys.mcp.add sys.mcp.refresh sys.token.create sys.link sys.unlink \
                sys.link.consume sys.user.create sys.user.update sys.group.create sys.capability.grant \
                sys.capability.revoke \
                pkg.add pkg.sync pkg.checkout pkg.install pkg.review.approve pkg.remote.add pkg.public.set"),
        ("DPM", "sys.user.remove sys.group.remove sys.token.revoke sys.mcp.remove sys.oauth.forget pkg.remove \
                 pkg.remote.remove"),
        ("PNM", "adapter.connect adapter.disconnect sys.oauth.refresh"),
        ("NM", "adapter.send repo.import"),
        ("N", "ai.transcription.create ai.speech.create"),
        ("NO", "sys.mcp.call"),
        ("O", "codemode.exec codemode.run no.such.call"),
    ];

    #[test]
    fn every_call_has_the_tags_that_people_made_policies_for() {
        let letters = [
            (Tags::DESTRUCTIVE, 'D'),
            (Tags::PRIVILEGED, 'P'),
            (Tags::NETWORK, 'N'),
            (Tags::MUTATING, 'M'),
            (Tags::OPAQUE, 'O'),
        ];
        let mut left: Vec<&str> = protocol::calls().map(|spec| spec.name).collect();
        for (expected, names) in TABLE {
            for name in names.split_whitespace() {
                let tags = tags(name);
                let found: String = letters
                    .iter()
                    .filter(|(tag, _)| tags.intersects(*tag))
                    .map(|(_, letter)| letter)
                    .collect();
                assert_eq!(&found, expected, "{name}");
                left.retain(|known| known != &name);
            }
        }
        assert!(left.is_empty(), "not in the table: {left:?}");
    }

    #[test]
    fn what_changes_the_gateway_is_privileged() {
        let rule = Tags::PRIVILEGED | Tags::MUTATING;
        for spec in protocol::calls() {
            let last = spec.name.rsplit('.').next().unwrap_or_default();
            let reads = matches!(
                last,
                "list" | "get" | "read" | "search" | "log" | "refs" | "diff" | "compare" | "history"
            );
            if reads {
                assert!(!tags(spec.name).intersects(rule), "{}", spec.name);
            } else if is_of_gateway(spec.name) {
                assert!(tags(spec.name).contains(rule), "{}", spec.name);
            }
        }
    }

    /// Workspaces are somebody's files, and tools of an MCP server are not the gateway's.
    fn is_of_gateway(name: &str) -> bool {
        name.starts_with("sys.") && !name.starts_with("sys.workspace.") && name != "sys.mcp.call"
    }

    #[test]
    fn a_call_that_nobody_knows_is_opaque_and_as_bad_as_its_domain() {
        assert_eq!(tags("no.such.call"), Tags::OPAQUE);
        assert_eq!(tags(""), Tags::OPAQUE);
        assert!(tags("sys.no.such.call").contains(Tags::OPAQUE | Tags::PRIVILEGED | Tags::DESTRUCTIVE));
        assert!(tags("fs.shred").contains(Tags::OPAQUE | Tags::DESTRUCTIVE));
    }
}
