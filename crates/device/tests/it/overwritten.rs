//! What agents overwrite and delete is kept, can be looked at, brought back, and undone by run.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::{Value, json};

use crate::bench::Bench;

/// The arguments of a call of an agent.
fn by(run: &str, way: &str, mut args: Value) -> Value {
    args["confine"] = json!({ "pid": "p1", "run": run, "way": way });
    args
}

fn agent(args: Value) -> Value {
    by("r1", "confined", args)
}

async fn undo(bench: &Bench, run: &str) -> BTreeMap<String, String> {
    told(bench, &bench.call("fs.undo", json!({ "runId": run })).await)
}

/// What an undo says of each path, by its name in the workspace.
fn told(bench: &Bench, undone: &Value) -> BTreeMap<String, String> {
    assert_eq!(undone["ok"], true, "{undone}");
    let work = bench.path("").canonicalize().unwrap();
    let paths = undone["paths"].as_array().unwrap().iter();
    paths
        .map(|path| {
            let name = Path::new(path["path"].as_str().unwrap()).strip_prefix(&work).unwrap();
            (name.display().to_string(), path["action"].as_str().unwrap().to_string())
        })
        .collect()
}

fn expect(all: &[(&str, &str)]) -> BTreeMap<String, String> {
    all.iter().map(|(path, action)| (path.to_string(), action.to_string())).collect()
}

#[tokio::test]
async fn a_run_is_taken_back_in_one_go_and_so_is_the_undo() {
    let bench = Bench::keeping();
    bench.put("a", "one\n");
    bench.put("gone", "still here\n");
    std::fs::set_permissions(bench.path("gone"), PermissionsExt::from_mode(0o750)).unwrap();
    bench.call("fs.write", agent(json!({ "path": "a", "content": "two\n" }))).await;
    bench.call("fs.edit", agent(json!({ "path": "a", "oldString": "two", "newString": "three" }))).await;
    bench.call("fs.write", agent(json!({ "path": "new/deep/b", "content": "b" }))).await;
    bench.call("fs.delete", agent(json!({ "path": "gone" }))).await;
    bench.call("fs.write", by("r2", "confined", json!({ "path": "other", "content": "x" }))).await;

    let all = expect(&[("a", "restored"), ("gone", "restored"), ("new/deep/b", "removed")]);
    let dry = bench.call("fs.undo", json!({ "runId": "r1", "dryRun": true })).await;
    assert_eq!(told(&bench, &dry), all);
    assert_eq!(dry["versions"], Value::Null, "{dry}");
    assert_eq!((bench.text("a").as_str(), bench.path("gone").exists()), ("three\n", false));

    let undone = bench.call("fs.undo", json!({ "runId": "r1" })).await;
    assert_eq!(told(&bench, &undone), all);
    assert_eq!((bench.text("a").as_str(), bench.text("gone").as_str()), ("one\n", "still here\n"));
    let mode = std::fs::metadata(bench.path("gone")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o750);
    assert!(!bench.path("new").exists(), "directories that were made for it go too");
    assert_eq!(bench.text("other"), "x", "another run is not touched");

    let again = undo(&bench, "r1").await;
    assert!(again.values().all(|action| action == "unchanged"), "{again:?}");
    let number = undone["versions"][0].as_str().unwrap();
    undo(&bench, &format!("undo-{number}")).await;
    assert_eq!((bench.text("a").as_str(), bench.text("new/deep/b").as_str()), ("three\n", "b"));
    assert!(!bench.path("gone").exists());
}

#[tokio::test]
async fn what_somebody_changed_since_is_named_and_left_alone() {
    let bench = Bench::keeping();
    for name in ["edited", "deleted", "between", "quiet"] {
        bench.put(name, "old");
        bench.call("fs.write", agent(json!({ "path": name, "content": "agent" }))).await;
    }
    bench.put("edited", "mine");
    std::fs::remove_file(bench.path("deleted")).unwrap();
    bench.put("between", "mine");
    bench.call("fs.write", agent(json!({ "path": "between", "content": "agent again" }))).await;
    bench.call("fs.write", agent(json!({ "path": "made/x", "content": "agent" }))).await;
    bench.put("made/mine", "mine");
    let undone = bench.call("fs.undo", json!({ "runId": "r1" })).await;
    let all = [
        ("between", "conflict"),
        ("deleted", "conflict"),
        ("edited", "conflict"),
        ("made/x", "removed"),
        ("quiet", "restored"),
    ];
    assert_eq!(told(&bench, &undone), expect(&all));
    assert!(undone.to_string().contains("it was changed after the run"), "{undone}");
    assert_eq!((bench.text("edited").as_str(), bench.text("between").as_str()), ("mine", "agent again"));
    assert!(!bench.path("deleted").exists());
    assert_eq!(bench.text("made/mine"), "mine");
}

#[tokio::test]
async fn a_directory_of_a_thousand_files_comes_back_with_its_links() {
    let bench = Bench::keeping();
    for number in 0..1_000 {
        bench.put(&format!("dir/{}/f{number}", number % 7), format!("content {number}"));
    }
    bench.put("outside", "not touched");
    symlink("../outside", bench.path("dir/link")).unwrap();
    symlink("/nowhere/at/all", bench.path("dir/dangling")).unwrap();
    std::fs::create_dir(bench.path("dir/empty")).unwrap();
    bench.call("fs.delete", agent(json!({ "path": "dir" }))).await;
    assert!(!bench.path("dir").exists());
    let bench = bench.restarted();
    let undone = undo(&bench, "r1").await;
    assert_eq!(undone.len(), 1_002);
    for number in 0..1_000 {
        assert_eq!(bench.text(&format!("dir/{}/f{number}", number % 7)), format!("content {number}"));
    }
    assert_eq!(std::fs::read_link(bench.path("dir/link")).unwrap(), Path::new("../outside"));
    assert_eq!(std::fs::read_link(bench.path("dir/dangling")).unwrap(), Path::new("/nowhere/at/all"));
    assert!(bench.path("dir/empty").is_dir());
    assert_eq!(bench.text("outside"), "not touched");
}

#[tokio::test]
async fn a_link_is_kept_as_a_link_and_written_through() {
    let bench = Bench::keeping();
    bench.put("real", "old");
    symlink("real", bench.path("link")).unwrap();
    bench.call("fs.write", agent(json!({ "path": "link", "content": "new" }))).await;
    bench.call("fs.delete", agent(json!({ "path": "link" }))).await;
    assert_eq!(undo(&bench, "r1").await, expect(&[("link", "restored"), ("real", "restored")]));
    assert_eq!(bench.text("real"), "old");
    assert_eq!(std::fs::read_link(bench.path("link")).unwrap(), Path::new("real"));
    // A link that takes the place of a file, or of a directory on the way, is not followed.
    bench.call("fs.write", by("r2", "confined", json!({ "path": "dir/x", "content": "new" }))).await;
    bench.put("victim/x", "new");
    std::fs::remove_dir_all(bench.path("dir")).unwrap();
    symlink("victim", bench.path("dir")).unwrap();
    assert_eq!(undo(&bench, "r2").await, expect(&[("dir/x", "conflict")]));
    assert_eq!(bench.text("victim/x"), "new");
}

#[tokio::test]
async fn versions_are_listed_read_and_brought_back() {
    let bench = Bench::keeping();
    bench.put("f", "one\r\n");
    bench.call("fs.write", agent(json!({ "path": "f", "content": "two\n" }))).await;
    bench.call("fs.delete", by("r2", "confined", json!({ "path": "f" }))).await;
    let listed = bench.call("fs.history", json!({ "path": "f" })).await;
    let versions: Vec<(&str, bool, Option<u64>)> = listed["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (one["version"].as_str().unwrap(), one["deleted"].as_bool().unwrap(), one["size"].as_u64())
        })
        .collect();
    assert_eq!(versions, [("2", true, None), ("1", false, Some(4)), ("1~", false, Some(5))], "{listed}");
    assert_eq!(listed["versions"][1]["runId"], "r1");
    let read = bench.call("fs.history.read", json!({ "path": "f", "version": "1~" })).await;
    assert_eq!((&read["content"], &read["size"]), (&json!("     1\tone\r"), &json!(5)), "{read}");
    let why = bench.fails("fs.history.read", json!({ "path": "f", "version": "9" })).await;
    assert!(why.contains("fs.history lists them"), "{why}");

    let restored = bench.call("fs.restore", json!({ "path": "f", "version": "1~" })).await;
    assert_eq!((&restored["version"], &restored["size"]), (&json!("3"), &json!(5)), "{restored}");
    assert_eq!(bench.text("f"), "one\r\n");
    let again = bench.call("fs.restore", json!({ "path": "f", "version": "1~" })).await;
    assert_eq!(again["version"], Value::Null);
    bench.call("fs.restore", json!({ "path": "f", "version": "2" })).await;
    assert!(!bench.path("f").exists(), "a version that deleted the file deletes it again");
    let one = bench.call("fs.history", json!({ "path": "f", "limit": 1 })).await;
    assert_eq!((one["versions"].as_array().unwrap().len(), &one["truncated"]), (1, &json!(true)));
}

#[tokio::test]
async fn what_can_not_be_kept_is_asked_about_and_then_said() {
    let bench = Bench::keeping();
    bench.put("f", "old");
    // Nobody can write here, not even root: a file stands where the directory was.
    let list = bench.outside().join("state/overwritten/objects");
    std::fs::remove_dir_all(&list).unwrap();
    std::fs::write(&list, "").unwrap();
    for (call, args) in [
        ("fs.write", json!({ "path": "f", "content": "new" })),
        ("fs.edit", json!({ "path": "f", "oldString": "old", "newString": "new" })),
        ("fs.delete", json!({ "path": "f" })),
    ] {
        let frame = bench.frame(call, agent(args)).await;
        assert_eq!(frame["error"]["details"]["reason"], "approval_required", "{frame}");
        assert!(frame.to_string().contains("could not be kept"), "{frame}");
        assert_eq!(bench.text("f"), "old");
    }
    bench.call("fs.write", by("r1", "approved", json!({ "path": "f", "content": "new" }))).await;
    assert_eq!(bench.text("f"), "new");
    let undone = bench.call("fs.undo", json!({ "runId": "r1" })).await;
    assert!(undone["cannot"][0].as_str().unwrap().contains("could not be kept"), "{undone}");
    // A person is not asked.
    bench.call("fs.write", json!({ "path": "f", "content": "mine" })).await;
}

#[tokio::test]
async fn a_huge_file_is_asked_about() {
    let bench = Bench::keeping();
    let file = std::fs::File::create(bench.path("huge")).unwrap();
    file.set_len(65 * 1024 * 1024).unwrap();
    let frame = bench.frame("fs.delete", agent(json!({ "path": "huge" }))).await;
    assert!(frame.to_string().contains("larger than 64 MB"), "{frame}");
    assert!(bench.path("huge").exists());
    let objects = std::fs::read_dir(bench.outside().join("state/overwritten/objects")).unwrap();
    assert_eq!(objects.count(), 0, "nothing is left of it");
}

#[tokio::test]
async fn a_change_that_was_kept_and_never_made_needs_nothing() {
    let bench = Bench::keeping();
    bench.put("f", "old");
    bench.call("fs.write", agent(json!({ "path": "f", "content": "new" }))).await;
    // As if the driver had been killed between keeping and writing.
    bench.put("f", "old");
    let bench = bench.restarted();
    assert_eq!(undo(&bench, "r1").await, expect(&[("f", "unchanged")]));
    bench.call("fs.write", by("r2", "confined", json!({ "path": "f", "content": "a" }))).await;
    bench.call("fs.write", by("r2", "confined", json!({ "path": "f", "content": "b" }))).await;
    bench.put("f", "a");
    assert_eq!(undo(&bench, "r2").await, expect(&[("f", "restored")]));
    assert_eq!(bench.text("f"), "old");
}

#[tokio::test]
async fn agents_neither_reach_the_store_nor_undo_anything() {
    let bench = Bench::keeping();
    bench.put("f", "secret of before");
    bench.call("fs.write", agent(json!({ "path": "f", "content": "new" }))).await;
    let store = bench.outside().join("state/overwritten").canonicalize().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode(&store), mode(&store.join("objects")), mode(&store.join("list"))),
        (0o700, 0o700, 0o700)
    );
    let object = std::fs::read_dir(store.join("objects")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(mode(&object), 0o600);
    symlink(&store, bench.path("way-in")).unwrap();
    let inside = bench.path("way-in/objects").join(object.file_name().unwrap());
    for way in ["confined", "approved", "proved"] {
        for path in [&object, &inside] {
            for (call, args) in [
                ("fs.read", json!({ "path": path })),
                ("fs.write", json!({ "path": path, "content": "x" })),
                ("fs.edit", json!({ "path": path, "oldString": "s", "newString": "x" })),
                ("fs.delete", json!({ "path": path })),
                ("fs.search", json!({ "path": path, "query": "secret" })),
            ] {
                let (code, why) = bench.refused(call, by("r1", way, args)).await;
                assert!(code == 403 && why.contains("closed to agents"), "{way} {call}: {why}");
            }
        }
        // Nor does it go with a directory that it is in.
        for above in [store.parent().unwrap(), store.parent().unwrap().parent().unwrap()] {
            let (code, why) = bench.refused("fs.delete", by("r1", way, json!({ "path": above }))).await;
            assert!(code == 403 && why.contains("closed to agents"), "{way} {}: {why}", above.display());
        }
        let (code, why) = bench.refused("fs.undo", by("r1", way, json!({ "runId": "r1" }))).await;
        assert!(code == 403 && why.contains("for people"), "{why}");
    }
    assert_eq!(std::fs::read_to_string(&object).unwrap(), "secret of before");
}

#[tokio::test]
async fn commands_outside_the_sandbox_are_named() {
    let bench = Bench::keeping();
    bench.call("shell.exec", by("r1", "approved", json!({ "input": "echo hi > made" }))).await;
    let undone = bench.call("fs.undo", json!({ "runId": "r1" })).await;
    assert_eq!(undone["cannot"], json!(["the command `echo hi > made` ran outside the sandbox"]));
    assert_eq!(bench.text("made"), "hi\n");
}

#[tokio::test]
async fn what_commands_did_is_taken_back_with_it() {
    use checkpoint::{Budget, Checkpoints, Label, When};
    let bench = Bench::keeping();
    let (state, work) = (bench.outside().join("state"), bench.path(""));
    let take = |when| {
        let kept = Checkpoints::open(&state.join("checkpoints"), &work).unwrap();
        let label = Label { pid: "p1".into(), run: "r1".into(), call: None, when };
        kept.take(&label, base::clock::Clock::system().now_ms(), &Budget::default()).unwrap();
    };
    for name in ["by-both", "by-call", "by-command", "disputed"] {
        bench.put(name, "old");
    }
    bench.call("fs.write", agent(json!({ "path": "by-both", "content": "call" }))).await;
    take(When::Before);
    for name in ["by-both", "by-command", "disputed", "later", "built/x"] {
        bench.put(name, "command");
    }
    take(When::After);
    bench.call("fs.write", agent(json!({ "path": "later", "content": "call" }))).await;
    bench.call("fs.write", agent(json!({ "path": "by-call", "content": "call" }))).await;
    bench.call("fs.write", agent(json!({ "path": "by-command", "content": "call" }))).await;
    bench.put("disputed", "mine");
    let all = expect(&[
        ("built/x", "removed"),
        ("by-both", "restored"),
        ("by-call", "restored"),
        ("by-command", "restored"),
        ("disputed", "conflict"),
        ("later", "removed"),
    ]);
    let dry = bench.call("fs.undo", json!({ "runId": "r1", "dryRun": true })).await;
    assert_eq!(told(&bench, &dry), all, "{dry}");
    assert_eq!(undo(&bench, "r1").await, all);
    for name in ["by-both", "by-call", "by-command"] {
        assert_eq!(bench.text(name), "old", "{name}");
    }
    assert_eq!(bench.text("disputed"), "mine");
    assert!(!bench.path("later").exists() && !bench.path("built").exists());
    let listed = bench.call("fs.history", json!({ "path": "by-both" })).await;
    assert!(listed["versions"].as_array().unwrap().len() >= 3, "{listed}");
}
