//! Table tests of syscalls and signals: complete, unambiguous and documented.

use std::collections::{BTreeMap, BTreeSet};

use protocol::identity::Role;
use protocol::schema::Bundle;
use protocol::signal::{SIGNALS, names_for};
use protocol::spec::{Access, Effect, Group, Route};
use protocol::{calls, capability, spec};

/// The calls of the documented surface.
const DOCUMENTED: &str = "
    adapter.connect adapter.disconnect adapter.inbound adapter.send adapter.state.update
    adapter.status ai.config ai.tools codemode.exec codemode.run fs.delete fs.edit fs.read
    fs.search fs.write notification.create notification.dismiss notification.list
    notification.mark_read pkg.add pkg.checkout pkg.install pkg.list pkg.public.list
    pkg.public.set pkg.remote.add pkg.remote.list pkg.remote.remove pkg.remove
    pkg.review.approve pkg.sync proc.abort proc.conversation.close proc.conversation.compact
    proc.conversation.fork proc.conversation.get proc.conversation.list proc.conversation.open
    proc.conversation.policy.get proc.conversation.policy.set proc.conversation.reset
    proc.conversation.segment.read proc.conversation.segments proc.hil proc.history
    proc.ipc.call proc.ipc.deliver proc.ipc.send proc.kill proc.list proc.profile.list
    proc.reset proc.send proc.setidentity proc.spawn repo.apply repo.compare repo.create
    repo.diff repo.import repo.list repo.log repo.read repo.refs repo.search sched.add
    sched.list sched.remove sched.run sched.update shell.exec signal.unwatch signal.watch
    sys.bootstrap sys.config.get sys.config.set sys.connect sys.device.get sys.device.list
    sys.device.update sys.link sys.link.consume sys.link.list sys.mcp.add sys.mcp.call
    sys.mcp.list sys.mcp.refresh sys.mcp.remove sys.oauth.forget sys.oauth.list sys.oauth.start
    sys.setup sys.setup.assist sys.token.create sys.token.list sys.token.revoke sys.unlink
    sys.workspace.list
";

/// The calls added to it.
const ADDED: &str = "
    ai.speech.create ai.transcription.create fs.history fs.history.read fs.pull fs.push fs.restore fs.undo proc.approvals.list proc.approvals.pending
    proc.approvals.revoke proc.cost proc.undo sys.oauth.refresh sys.workspace.archive sys.workspace.create sys.workspace.restore
    proc.media.read sys.capability.grant sys.capability.list sys.capability.revoke sys.device.access
    sys.group.create sys.group.list sys.group.remove sys.user.create sys.user.list sys.user.remove
    sys.user.update
";

fn names(text: &'static str) -> BTreeSet<&'static str> {
    text.split_whitespace().collect()
}

#[test]
fn the_table_holds_exactly_the_documented_calls_and_the_additions() {
    assert_eq!(names(DOCUMENTED).len(), 98);
    let expected: BTreeSet<_> = names(DOCUMENTED).union(&names(ADDED)).copied().collect();
    let actual: BTreeSet<_> = calls().map(|spec| spec.name).collect();
    assert_eq!(actual, expected);
    assert_eq!(calls().count(), expected.len(), "a name stands in the table twice");
}

#[test]
fn every_row_is_documented_and_its_name_is_a_capability() {
    for row in calls() {
        assert!(capability::is_valid(row.name) && !row.name.contains('*'), "{}", row.name);
        assert!(row.text().ends_with('.') && row.text().len() > 10, "{}: {:?}", row.name, row.text());
        assert_eq!(spec(row.name).map(|found| found.name), Some(row.name));
    }
    for row in SIGNALS {
        assert!(row.doc.trim().ends_with('.'), "{}", row.name);
    }
}

#[test]
fn agents_see_seven_tools() {
    let tools: BTreeMap<_, _> = calls().filter_map(|row| Some((row.tool?.name, row.name))).collect();
    let expected = [
        ("CodeMode", "codemode.exec"),
        ("Delete", "fs.delete"),
        ("Edit", "fs.edit"),
        ("Read", "fs.read"),
        ("Search", "fs.search"),
        ("Shell", "shell.exec"),
        ("Write", "fs.write"),
    ];
    assert_eq!(tools, BTreeMap::from(expected));
}

#[test]
fn models_see_arguments_that_the_call_has_and_all_that_it_needs() {
    for row in calls() {
        let Some(tool) = row.tool else { continue };
        let schema = protocol::schema::args_of(row);
        for argument in tool.arguments {
            assert!(schema["properties"].get(argument).is_some(), "{}: {argument}", row.name);
        }
        for needed in schema["required"].as_array().into_iter().flatten() {
            let needed = needed.as_str().unwrap();
            assert!(tool.arguments.contains(&needed), "{}: {needed}", row.name);
        }
    }
}

#[test]
fn effects_of_a_row_do_not_contradict_each_other() {
    for row in calls() {
        let has = |effect: Effect| row.effects.contains(&effect);
        let mut seen = Vec::new();
        for effect in row.effects {
            assert!(!seen.contains(effect), "{}: {effect:?} twice", row.name);
            seen.push(*effect);
        }
        let does_more = row.effects.iter().any(|effect| !matches!(effect, Effect::Reads | Effect::Network));
        assert_ne!(has(Effect::Reads), does_more, "{}: {:?}", row.name, row.effects);
    }
    let only_reads = |name: &str| spec(name).unwrap().only_reads();
    assert!(only_reads("fs.read") && only_reads("fs.search"));
    assert!(!only_reads("shell.exec") && !only_reads("fs.edit") && !only_reads("ai.speech.create"));
}

#[test]
fn a_domain_is_granted_whole_or_by_name() {
    for row in calls() {
        for grant in row.grants.iter().filter(|grant| grant.is_whole_domain) {
            for other in calls().filter(|other| other.domain() == row.domain()) {
                assert!(other.grants.contains(grant), "{} is granted with {}", other.name, row.name);
            }
        }
        let is_root_alone = row.grants.iter().any(|grant| grant.group == Group::Root);
        assert!(!is_root_alone || row.grants.len() == 1, "{}", row.name);
        assert!(row.access != Access::Root || is_root_alone, "{} is for root only", row.name);
    }
}

#[test]
fn calls_that_are_not_for_everybody_say_so() {
    let with = |access: Access| -> BTreeSet<_> {
        calls().filter(|row| row.access == access).map(|row| row.name).collect()
    };
    assert_eq!(with(Access::Open), names("sys.connect sys.setup sys.setup.assist"));
    assert_eq!(with(Access::Service), names("adapter.inbound adapter.state.update"));
    assert_eq!(with(Access::Kernel), names("proc.ipc.deliver proc.setidentity"));
    assert_eq!(with(Access::User), names("sys.link sys.link.consume sys.link.list sys.unlink"));
    assert_eq!(with(Access::Program), names("ai.config ai.tools codemode.exec signal.unwatch signal.watch"));
    let routed: BTreeSet<_> =
        calls().filter(|row| row.route == Route::Target).map(|row| row.domain()).collect();
    assert_eq!(routed, names("fs shell"));
}

#[test]
fn schema_names_are_unique() {
    // Two types of one name would make the second one appear with a number behind it.
    for name in Bundle::all().defs.keys() {
        assert!(name.chars().all(|c| c.is_ascii_alphabetic()), "{name}");
    }
}

#[test]
fn every_argument_and_result_type_has_its_own_shape() {
    let bundle = Bundle::all();
    for (row, args, result) in &bundle.calls {
        let text = format!("{args}{result}");
        assert!(text.contains("$ref"), "{}: {text}", row.name);
    }
}

#[test]
fn each_role_is_told_of_its_signals_in_the_documented_order() {
    assert_eq!(
        names_for(Role::User),
        [
            "proc.changed",
            "proc.run.started",
            "proc.run.stream",
            "proc.run.output",
            "proc.run.tool.started",
            "proc.run.tool.finished",
            "proc.run.hil.requested",
            "proc.run.finished",
            "process.exit",
            "device.status",
            "adapter.status",
            "pkg.changed",
        ]
    );
    assert_eq!(names_for(Role::Driver), ["device.status"]);
    assert_eq!(names_for(Role::Service), ["adapter.status"]);
    let unlisted: Vec<_> = SIGNALS.iter().filter(|row| !row.listed).map(|row| row.name).collect();
    assert_eq!(
        unlisted,
        ["repo.import.progress", "notification.created", "notification.updated", "notification.dismissed"]
    );
}
