//! Tests of repositories with the real binary and the real git program: a login that git uses, `gsv repo`, kill -9.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::world::{Said, World, finish, wait_until};

/// Git with nothing of the machine's settings; it asks nobody.
fn git(world: &World, directory: &Path, args: &[&str]) -> Said {
    finish(&mut git_command(world, directory, args), b"")
}

fn git_command(world: &World, directory: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", world.home.path())
        .env("XDG_CONFIG_HOME", world.home.path().join("config"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .current_dir(directory)
        .args(args);
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Alice").env(format!("GIT_{who}_EMAIL"), "alice@example.org");
    }
    command
}

#[track_caller]
fn git_ok(world: &World, directory: &Path, args: &[&str]) -> String {
    let said = git(world, directory, args);
    assert_eq!(said.code, 0, "git {args:?}: {said:?}");
    said.out
}

/// A work tree with one commit.
fn work(world: &World, name: &str) -> PathBuf {
    let path = world.home.path().join(name);
    std::fs::create_dir(&path).unwrap();
    git_ok(world, &path, &["init", "-q", "-b", "main"]);
    commit(world, &path, "README.md", b"one\ntwo\n", "first");
    path
}

fn commit(world: &World, work: &Path, name: &str, content: &[u8], message: &str) {
    std::fs::write(work.join(name), content).unwrap();
    git_ok(world, work, &["add", "."]);
    git_ok(world, work, &["commit", "-q", "-m", message]);
}

fn clone_url(world: &World, repo: &str) -> String {
    world.ok(&["repo", "clone-url", repo]).trim().to_string()
}

#[test]
fn git_uses_the_login_of_the_command_line() {
    let world = World::set_up();
    let url = clone_url(&world, "notes");
    assert_eq!(url, format!("http://127.0.0.1:{}/git/alice/notes.git", world.port));
    let work = work(&world, "work");
    let before = git(&world, &work, &["push", "-q", &url, "main"]);
    assert!(before.code != 0 && before.err.contains("could not read Username"), "{before:?}");
    let told = world.ok(&["auth", "git"]);
    assert!(told.contains("git now uses your session"), "{told}");
    world.ok(&["auth", "git"]);
    git_ok(&world, &work, &["push", "-q", &url, "main"]);
    let home = world.home.path().to_path_buf();
    git_ok(&world, &home, &["clone", "-q", &url, "copy"]);
    let other_name = url.replace("127.0.0.1", "localhost");
    git_ok(&world, &home, &["clone", "-q", &other_name, "second"]);
    assert_eq!(std::fs::read_to_string(home.join("second/README.md")).unwrap(), "one\ntwo\n");
    let settings = std::fs::read_to_string(home.join(".gitconfig")).unwrap();
    assert!(!settings.contains("gsv_"), "no secret is in git's settings: {settings}");
    // Other servers are told nothing.
    let ask = |host: &str, user: &str| {
        let question = format!("protocol=http\nhost={host}\n{user}\n");
        world.run_with(&["auth", "git-credential", "get"], question.as_bytes())
    };
    let own = ask(&format!("127.0.0.1:{}", world.port), "");
    assert!(own.out.starts_with("username=alice\npassword=gsv_"), "{own:?}");
    for (host, user) in [("evil.example", ""), ("127.0.0.1:1", "")] {
        let said = ask(host, user);
        assert!(
            said.code == 0 && said.out.is_empty() && said.err.contains("nobody is logged in"),
            "{said:?}"
        );
    }
    let bob = ask(&format!("127.0.0.1:{}", world.port), "username=bob\n");
    assert!(bob.out.is_empty(), "{bob:?}");
    // A session that is over is forgotten, and the person is asked again.
    world.ok(&["auth", "logout"]);
    assert_ne!(git(&world, &home, &["ls-remote", &url]).code, 0);
    world.ok(&["auth", "login", "-p", "alice-password", "--username", "alice"]);
    git_ok(&world, &home, &["ls-remote", &url]);
    world.ok(&["auth", "git", "--remove"]);
    assert_ne!(git(&world, &home, &["ls-remote", &url]).code, 0);
}

#[test]
fn without_the_git_program_the_gateway_says_so() {
    let mut world = World::set_up();
    world.ok(&["auth", "git"]);
    let (work, url) = (work(&world, "work"), clone_url(&world, "notes"));
    git_ok(&world, &work, &["push", "-q", &url, "main"]);
    world.gateway.child.kill().unwrap();
    world.gateway.child.wait().unwrap();
    world.restart_gateway_with(&[("PATH", "/nowhere")]);
    let said = git(&world, &work, &["ls-remote", &url]);
    assert!(said.code != 0 && said.err.contains("needs the git program"), "{said:?}");
    assert!(said.err.contains("501"), "{said:?}");
    world.ok(&["devices"]);
}

#[test]
fn a_gateway_killed_in_the_middle_of_a_push_has_the_old_ref_or_the_new() {
    let mut world = World::set_up();
    world.ok(&["auth", "git"]);
    let (work, url) = (work(&world, "work"), clone_url(&world, "notes"));
    git_ok(&world, &work, &["push", "-q", &url, "main"]);
    let bare = world.home.path().join("data/repos/alice/notes.git");
    for round in 0..6u32 {
        let before = git_ok(&world, &bare, &["rev-parse", "main"]);
        for file in 0..40 {
            let noise: Vec<u8> =
                (0..20_000u32).flat_map(|n| (n * (round + 3) * 7_919 + file).to_le_bytes()).collect();
            std::fs::write(work.join(format!("f{file}")), noise).unwrap();
        }
        git_ok(&world, &work, &["add", "."]);
        git_ok(&world, &work, &["commit", "-q", "-m", "more"]);
        let after = git_ok(&world, &work, &["rev-parse", "HEAD"]);
        let mut push = git_command(&world, &work, &["push", "-q", &url, "main"]);
        let mut push = push.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Each round a little later: before the objects, among them, after them.
        let objects = bare.join("objects");
        wait_until("the push begins", || {
            let entries = std::fs::read_dir(&objects).unwrap().flatten();
            let begun =
                entries.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("tmp_"));
            begun || push.try_wait().unwrap().is_some()
        });
        std::thread::sleep(std::time::Duration::from_millis(u64::from(round) * 15));
        world.gateway.child.kill().unwrap();
        world.gateway.child.wait().unwrap();
        push.wait().unwrap();
        world.restart_gateway();
        let checked = git(&world, &bare, &["fsck", "--strict", "--full"]);
        assert_eq!(checked.code, 0, "{checked:?}");
        let now = git_ok(&world, &bare, &["rev-parse", "main"]);
        assert!(now == before || now == after, "{before} {now} {after}");
        // Nothing is in the way of the next one.
        wait_until("the next push works", || git(&world, &work, &["push", "-q", &url, "main"]).code == 0);
        assert_eq!(git_ok(&world, &bare, &["rev-parse", "main"]), after);
    }
}

#[test]
fn a_body_waits_for_the_word_to_go_on() {
    let world = World::set_up();
    let mut socket = TcpStream::connect(("127.0.0.1", world.port)).unwrap();
    let head = "POST /git/alice/notes/git-receive-pack HTTP/1.1\r\nhost: gateway\r\nexpect: 100-continue\r\n\
        content-type: application/x-git-receive-pack-request\r\ncontent-length: 1000000000\r\nconnection: close\r\n\r\n";
    socket.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 401 "), "without a login nothing is sent in vain: {answer}");
}

#[test]
fn the_history_of_a_repository_can_be_read_without_git() {
    let world = World::set_up();
    world.ok(&["auth", "git"]);
    let made = world.ok(&["repo", "create", "notes", "--description", "what I think"]);
    assert!(made.contains("created alice/notes") && made.contains("git clone http://"), "{made}");
    assert!(world.ok(&["repo", "create", "alice/notes"]).contains("was there already"));
    let home = world.home.path().to_path_buf();
    git_ok(&world, &home, &["clone", "-q", &clone_url(&world, "notes"), "work"]);
    let work = home.join("work");
    commit(&world, &work, "README.md", b"one\ntwo\n", "first words");
    commit(&world, &work, "README.md", b"one\nthree\n", "better words\n\nbecause they are");
    commit(&world, &work, "data.bin", &[0, 1, 2, 255], "bytes");
    git_ok(&world, &work, &["push", "-q", "origin", "main"]);
    let list = world.ok(&["repo", "list"]);
    let row = list.lines().find(|line| line.starts_with("alice/notes ")).unwrap();
    assert!(row.contains("write") && row.contains("what I think"), "{list}");
    let log = world.ok(&["repo", "log", "notes"]);
    let shown: Vec<&str> = log.lines().collect();
    assert!(shown[1].ends_with("bytes") && shown[2].ends_with("better words"), "{log}");
    let short = shown[2].split(' ').next().unwrap();
    let diff = world.ok(&["repo", "diff", "notes", short]);
    let wanted = "diff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n";
    assert_eq!(diff, wanted);
    let show = world.ok(&["repo", "show", "notes", short]);
    assert!(show.contains("    because they are\n") && show.ends_with(wanted), "{show}");
    assert!(world.ok(&["repo", "diff", "notes", short, "main", "--stat"]).contains("A data.bin"));
    assert_eq!(world.ok(&["repo", "show", "notes", "README.md"]), "one\nthree\n");
    let hash = git_ok(&world, &work, &["rev-parse", "HEAD~2"]);
    assert_eq!(world.ok(&["repo", "show", "notes", &format!("README.md@{}", hash.trim())]), "one\ntwo\n");
    assert!(world.ok(&["repo", "show", "notes"]).contains("data.bin"));
    let binary = world.fails(1, &["repo", "show", "notes", "data.bin"]);
    assert!(binary.contains("not text") && binary.contains("git clone"), "{binary}");
    assert!(world.fails(1, &["repo", "show", "notes", "none"]).contains("Path not found"));
    assert!(world.fails(1, &["repo", "log", "nothing"]).contains("not found"));
    let json = world.json(&["repo", "log", "notes", "-n", "1"]);
    assert_eq!(json["entries"].as_array().unwrap().len(), 1);
}

#[test]
fn what_is_public_can_be_cloned_by_anybody() {
    let world = World::set_up();
    world.ok(&["auth", "git"]);
    let (work, url) = (work(&world, "work"), clone_url(&world, "open"));
    git_ok(&world, &work, &["push", "-q", &url, "main"]);
    world.ok(&["auth", "git", "--remove"]);
    assert_ne!(git(&world, &work, &["ls-remote", &url]).code, 0);
    assert!(world.ok(&["repo", "public", "open"]).contains("alice/open is public"));
    git_ok(&world, &work, &["ls-remote", &url]);
    assert!(world.ok(&["repo", "public", "open", "--off"]).contains("alice/open is private"));
    assert_ne!(git(&world, &work, &["ls-remote", &url]).code, 0);
}

#[test]
fn an_imported_repository_is_brought_up_to_date_without_its_url() {
    let world = World::set_up();
    let source = work(&world, "source");
    let url = format!("file://{}", source.display());
    let root = |args: &[&str]| world.root(&[&["repo", "import"], args].concat());
    assert!(root(&["root/copy", &url]).starts_with("root/copy main is at "));
    assert!(root(&["root/copy"]).starts_with("root/copy main was up to date at "));
    commit(&world, &source, "more.txt", b"more", "second");
    let head = git_ok(&world, &source, &["rev-parse", "--short=12", "HEAD"]);
    assert_eq!(root(&["root/copy"]), format!("root/copy main is at {head}"));
}
