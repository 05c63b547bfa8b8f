//! Rehearsals in the real sandbox: nothing outside changes, what is shown is what happens, and exactly that is put in
//! place, unless something changed meanwhile.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use base::clock::Clock;
use serde_json::{Value, json};

use crate::confined_home::{self, ALL_WORDS, ConfinedHome};

const SECRET: &str = "THE-SECRET-THAT-MUST-STAY";

/// Somebody without rights of his own. Not `nobody`, whose number inside is that of all whom a sandbox does not know.
const SOMEBODY: u32 = 12_345;

/// The same tests once more for an ordinary user, where root runs them: overlays and what may be put in place depend on
/// who one is.
#[test]
fn an_ordinary_user_rehearses_as_root_does() {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        return;
    }
    let place = tempfile::Builder::new().prefix("somebody-").tempdir().unwrap();
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let [program, tests, home] = ["gsv", "tests", "home"].map(|name| place.path().join(name));
    std::fs::copy(env!("CARGO_BIN_EXE_gsv"), &program).unwrap();
    std::fs::copy(std::env::current_exe().unwrap(), &tests).unwrap();
    std::fs::create_dir(&home).unwrap();
    std::os::unix::fs::chown(&home, Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    let mut command = std::process::Command::new(&tests);
    command.args(["rehearsing::", "--skip", "an_ordinary_user", "--skip", "are_bounded"]);
    command
        .current_dir(&home)
        .env(confined_home::HELPER_VARIABLE, &program)
        .env("HOME", &home)
        .env("TMPDIR", &home);
    let output = std::os::unix::process::CommandExt::uid(&mut command, SOMEBODY);
    let output = std::os::unix::process::CommandExt::gid(output, SOMEBODY).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("8 passed"), "{said}");
}

/// A home with a secret, and a driver there that can rehearse.
struct Stage {
    home: ConfinedHome,
}

impl Stage {
    fn new() -> Stage {
        let temp = tempfile::Builder::new().prefix("home-").tempdir().unwrap();
        let files = [
            ("precious.txt", "precious\n"),
            (".bashrc", "# start-up\n"),
            (".ssh/id_ed25519", SECRET),
            ("work/keep.txt", "keep\n"),
            ("work/change.txt", "one\ntwo\nthree\n"),
            ("work/gone.txt", "gone\n"),
            ("work/dir/deep/file", "deep\n"),
            ("work/.git/config", "[core]\n"),
            ("work/.git/HEAD", "ref: refs/heads/main\n"),
        ];
        let stage =
            Stage { home: ConfinedHome::new(temp, &files, "home/.local/state/gsv", ALL_WORDS, "/bin/sh") };
        stage.wait_for_later_timestamps();
        stage
    }

    fn work(&self, path: &str) -> PathBuf {
        self.home.path.join("work").join(path)
    }

    /// Waits until what was written just now lies clearly before what comes.
    fn wait_for_later_timestamps(&self) {
        let probe = self.home.temp.path().join("probe");
        std::fs::write(&probe, "").unwrap();
        let written = probe.metadata().unwrap().modified().unwrap();
        let written = written.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
        while u128::try_from(Clock::system().now_ms()).unwrap() <= written + 50 {
            std::thread::yield_now();
        }
    }

    async fn frame(&self, args: Value) -> Value {
        serde_json::from_str(&self.home.call("shell.exec", &args).await).unwrap()
    }

    #[track_caller]
    fn data(frame: Value) -> Value {
        assert_eq!(frame["ok"], true, "{frame}");
        frame["data"].clone()
    }

    async fn rehearse(&self, command: &str) -> Value {
        Stage::data(self.frame(json!({ "input": command, "rehearse": "run" })).await)
    }

    async fn apply(&self, command: &str, rehearsed: &Value) -> Value {
        let id = &rehearsed["rehearsal"]["id"];
        self.frame(json!({ "input": command, "rehearse": { "apply": id } })).await
    }

    /// Everything in the home but what the driver keeps, with contents and modes.
    fn tree(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut waiting = vec![self.home.path.clone()];
        while let Some(path) = waiting.pop() {
            if path.ends_with(".local") {
                continue;
            }
            let stat = path.symlink_metadata().unwrap();
            let content = if stat.is_symlink() {
                format!("-> {}", std::fs::read_link(&path).unwrap().display())
            } else if stat.is_dir() {
                waiting.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
                format!("{:o}/", stat.permissions().mode())
            } else {
                format!("{:o} {}", stat.permissions().mode(), std::fs::read_to_string(&path).unwrap())
            };
            found.insert(path, content);
        }
        found
    }
}

/// The paths that differ between two trees; of what is deleted the outermost.
fn differing(
    before: &BTreeMap<PathBuf, String>,
    after: &BTreeMap<PathBuf, String>,
) -> BTreeMap<PathBuf, &'static str> {
    let mut found = BTreeMap::new();
    for (path, content) in after {
        match before.get(path) {
            None => drop(found.insert(path.clone(), "created")),
            Some(old) if old != content => drop(found.insert(path.clone(), "changed")),
            Some(_) => {}
        }
    }
    for path in before.keys().filter(|path| !after.contains_key(*path)) {
        if path.parent().is_some_and(|parent| after.contains_key(parent)) {
            found.insert(path.clone(), "deleted");
        }
    }
    found
}

fn told(rehearsed: &Value) -> BTreeMap<PathBuf, String> {
    let changes = rehearsed["rehearsal"]["changes"].as_array().unwrap();
    let one = |change: &Value| {
        (PathBuf::from(change["path"].as_str().unwrap()), change["change"].as_str().unwrap().to_string())
    };
    changes.iter().map(one).collect()
}

const SCRIPT: &str = "echo new > new.txt; sed -i s/two/2/ change.txt; rm gone.txt; rm -r dir; chmod 755 keep.txt; \
    mkdir -p made/deep; echo x > made/deep/x; ln -s keep.txt link; echo more >> ../precious.txt; echo said; exit 3";

#[tokio::test(flavor = "multi_thread")]
async fn what_is_shown_is_what_happens_and_nothing_happens_before() {
    let stage = Stage::new();
    let before = stage.tree();
    let rehearsed = stage.rehearse(SCRIPT).await;
    assert_eq!(stage.tree(), before, "nothing outside changes by a rehearsal");
    assert_eq!((&rehearsed["output"], &rehearsed["exitCode"]), (&json!("said\n"), &json!(3)), "{rehearsed}");
    let changes = &rehearsed["rehearsal"]["changes"];
    let change =
        changes.as_array().unwrap().iter().find(|one| one["path"].as_str().unwrap().ends_with("change.txt"));
    assert_eq!(change.unwrap()["diff"], "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
    // The same command for real, by the same driver.
    let ran = Stage::data(stage.frame(json!({ "input": SCRIPT, "closeStdin": true })).await);
    assert_eq!((&ran["output"], &ran["exitCode"]), (&rehearsed["output"], &rehearsed["exitCode"]));
    let happened: BTreeMap<PathBuf, String> =
        differing(&before, &stage.tree()).into_iter().map(|(path, what)| (path, what.to_string())).collect();
    assert_eq!(told(&rehearsed), happened);
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_what_was_seen_is_put_in_place_once() {
    let stage = Stage::new();
    let command = "date +%s%N > now.txt; cat now.txt; rm gone.txt; echo x >> ../precious.txt";
    let rehearsed = stage.rehearse(command).await;
    assert!(!stage.work("now.txt").exists());
    let other = stage.apply("rm -r dir", &rehearsed).await;
    assert_eq!(other["error"]["code"], 409, "for this command only: {other}");
    let applied = Stage::data(stage.apply(command, &rehearsed).await);
    assert_eq!((&applied["output"], &applied["exitCode"]), (&rehearsed["output"], &rehearsed["exitCode"]));
    assert_eq!(applied["rehearsal"]["applied"], 3, "{applied}");
    assert!(applied["rehearsal"]["checkpoint"].is_u64(), "{applied}");
    let now = std::fs::read_to_string(stage.work("now.txt")).unwrap();
    assert_eq!(json!(now), rehearsed["output"]);
    assert!(!stage.work("gone.txt").exists());
    assert_eq!(std::fs::read_to_string(stage.home.path.join("precious.txt")).unwrap(), "precious\nx\n");
    let again = stage.apply(command, &rehearsed).await;
    assert_eq!(again["error"]["code"], 404, "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changed_since_is_told_and_nothing_is_put_in_place() {
    let stage = Stage::new();
    let command = "cat keep.txt > copy.txt; rm gone.txt; echo x >> ../precious.txt";
    for (path, text) in [
        // What it would write, what it read, what it would create, and what it writes outside the workspace.
        (stage.work("gone.txt"), "other"),
        (stage.work("keep.txt"), "other"),
        (stage.work("copy.txt"), "other"),
        (stage.home.path.join("precious.txt"), "other"),
    ] {
        stage.wait_for_later_timestamps();
        let rehearsed = stage.rehearse(command).await;
        let kept = std::fs::read(&path).ok();
        std::fs::write(&path, text).unwrap();
        let before = stage.tree();
        let refused = stage.apply(command, &rehearsed).await;
        assert_eq!(refused["error"]["code"], 409, "{refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("Nothing was put in place"), "{message}");
        assert_eq!(stage.tree(), before, "{}", path.display());
        match kept {
            Some(bytes) => std::fs::write(&path, bytes).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
    }
    let rehearsed = stage.rehearse(command).await;
    let id = &rehearsed["rehearsal"]["id"];
    Stage::data(stage.frame(json!({ "input": command, "rehearse": { "discard": id } })).await);
    assert_eq!(stage.apply(command, &rehearsed).await["error"]["code"], 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_runs_later_is_shown_and_never_put_in_place() {
    let stage = Stage::new();
    for command in [
        "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit",
        "echo x >> ../.bashrc",
        "echo x >> .git/config",
    ] {
        let before = stage.tree();
        let rehearsed = stage.rehearse(command).await;
        let changes = rehearsed["rehearsal"]["changes"].as_array().unwrap().clone();
        assert!(changes.iter().any(|change| change["runsLater"] == true), "{command}: {rehearsed}");
        let refused = stage.apply(command, &rehearsed).await;
        assert_eq!(refused["error"]["code"], 409, "{refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains("runs later"), "{refused}");
        assert_eq!(stage.tree(), before, "{command}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_command_stays_in_the_overlay() {
    let stage = Stage::new();
    let outside = stage.home.temp.path().join("outside.txt");
    std::fs::write(&outside, "outside").unwrap();
    let before = stage.tree();
    let hostile = format!(
        "cat ~/.ssh/id_ed25519; rm -rf ~/precious.txt ~/work ~/.ssh; ln -s / root; echo x > root{0}; echo x > {0}; \
         umount ~/.ssh; umount ~; mount -t tmpfs x /mnt; kill -9 -1; \
         setfattr -n user.overlay.redirect -v /etc ~/.bashrc; (setsid sleep 1000 > /dev/null 2>&1 &); \
         for p in /proc/*/root{0}; do echo x > $p; done; ls -la /var/tmp; getent hosts example.org; echo end",
        outside.display()
    );
    let rehearsed = stage.rehearse(&hostile).await;
    let text = rehearsed.to_string();
    assert!(!text.contains(SECRET), "{text}");
    assert_eq!(stage.tree(), before);
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "outside");
    let rehearsed = stage.rehearse("getent hosts example.org; true").await;
    assert_eq!(rehearsed["rehearsal"]["tried"], json!(["example.org"]), "{rehearsed}");
    assert!(rehearsed["rehearsal"]["cannot"].to_string().contains("no network"), "{rehearsed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn output_files_and_time_are_bounded() {
    let stage = Stage::new();
    let loud = stage.rehearse("yes | head -c 20000000; echo end").await;
    let output = loud["output"].as_str().unwrap();
    assert!(output.len() <= 256 * 1024 && output.ends_with("end\n"), "{}", output.len());
    assert_eq!(loud["truncated"], true);
    let many = stage.rehearse("mkdir many && cd many && seq 100000 | xargs touch").await;
    let changes = many["rehearsal"]["changes"].as_array().unwrap().len();
    assert!(changes <= 500, "{changes}");
    assert_eq!(many["rehearsal"]["truncated"], true);
    assert!(many["rehearsal"]["blocked"].is_string());
    assert!(!stage.work("many").exists());
    let slow = json!({ "input": "echo x > slow.txt; sleep 1000", "timeout": 500, "rehearse": "run" });
    let slow = Stage::data(stage.frame(slow).await);
    assert_eq!(slow["timedOut"], true, "{slow}");
    assert!(slow["rehearsal"]["blocked"].as_str().unwrap().contains("did not come to its end"), "{slow}");
    let big = stage.rehearse("truncate -s 3G sparse; head -c 100000 /dev/urandom > binary").await;
    assert!(big.to_string().contains("\"binary\""), "{big}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_cannot_ask_for_a_rehearsal() {
    let stage = Stage::new();
    for way in ["proved", "confined", "approved"] {
        let confine = json!({ "pid": "init:1000", "run": "r", "way": way });
        let refused = stage.frame(json!({ "input": "ls", "rehearse": "run", "confine": confine })).await;
        assert_eq!(refused["error"]["code"], 403, "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_call_of_an_agent_gets_what_was_rehearsed() {
    let stage = Stage::new();
    let command = "date +%s%N | tee now.txt";
    let rehearsed = stage.rehearse(command).await;
    let confine = json!({ "pid": "init:1000", "run": "r", "way": "approved", "rehearsal": rehearsed["rehearsal"]["id"] });
    let ran = Stage::data(stage.frame(json!({ "input": command, "confine": confine })).await);
    assert_eq!(ran["output"], rehearsed["output"]);
    assert!(ran.get("rehearsal").is_none(), "{ran}");
    assert_eq!(json!(std::fs::read_to_string(stage.work("now.txt")).unwrap()), rehearsed["output"]);
    let again = stage.frame(json!({ "input": command, "confine": confine })).await;
    assert_eq!(again["error"]["code"], 404, "it does not run instead: {again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_rehearsal_kept_goes_with_it() {
    let stage = Stage::new();
    let rehearsed = stage.rehearse("echo unmistakable-9f3b > only-here.txt").await;
    let place = shared_place();
    assert!(find(&place, "only-here.txt"), "{rehearsed}");
    let discard = json!({ "input": "x", "rehearse": { "discard": rehearsed["rehearsal"]["id"] } });
    Stage::data(stage.frame(discard).await);
    while find(&place, "only-here.txt") {
        std::thread::yield_now();
    }
}

/// Where layers lie when the driver's state is part of what is laid over.
pub fn shared_place() -> PathBuf {
    let uid = std::fs::metadata("/proc/self").unwrap().uid();
    PathBuf::from(format!("/var/tmp/gsv-rehearsals-{uid}"))
}

/// Whether a file of that name is somewhere below a directory.
pub fn find(directory: &Path, name: &str) -> bool {
    let Ok(entries) = std::fs::read_dir(directory) else { return false };
    entries.filter_map(Result::ok).any(|entry| {
        entry.file_name() == name
            || (entry.file_type().is_ok_and(|kind| kind.is_dir()) && find(&entry.path(), name))
    })
}
