//! Real work: what people do in a project works inside as it does outside.

use sandbox::{Outcome, Overlay};

use crate::stage::{HELPER, Stage};

fn works(stage: &Stage, script: &str) -> String {
    let done = stage.sh(script);
    assert_eq!((done.outcome.clone(), done.code), (Outcome::Started, Some(0)), "{script}: {done:?}");
    done.out
}

fn exists(program: &str) -> bool {
    let found = std::process::Command::new("/bin/sh").args(["-c", &format!("command -v {program}")]).output();
    found.expect("a shell").status.success()
}

#[test]
fn a_repository_can_be_made_and_committed_to() {
    let stage = Stage::new();
    let script = "mkdir repo && cd repo && git init -q . && echo x > f && git add f && git commit -qm one && \
                  git switch -qc other && echo y >> f && git commit -qam two && git log --oneline | wc -l && \
                  git worktree add -q ../tree && git status --short";
    assert_eq!(works(&stage, script).trim(), "2");
}

#[test]
fn a_repository_that_is_there_can_be_committed_to_but_not_configured() {
    let stage = Stage::new();
    let script =
        "rm -rf .git/hooks .git/config; git init -q . && git config user.name A && git config user.email a@b";
    let made =
        std::process::Command::new("/bin/sh").args(["-c", script]).current_dir(&stage.workspace).status();
    assert!(made.expect("git").success());
    works(
        &stage,
        "git add -A && git commit -qm one && git stash list && git branch topic && git checkout -q topic",
    );
    let done =
        stage.sh("git config core.hooksPath /tmp; git remote add x /tmp; echo x > .git/hooks/post-commit");
    assert_ne!(done.code, Some(0), "{done:?}");
    let config = std::fs::read_to_string(stage.workspace.join(".git/config")).expect("a file");
    assert!(!config.contains("hooksPath") && !config.contains("remote"), "{config}");
}

#[test]
fn make_builds_in_parallel() {
    let stage = Stage::new();
    stage.write("work/Makefile", "all: x y z\nx y z:\n\techo $@ > out-$@\n\tsleep 0.01\n");
    works(
        &stage,
        "make -s -j4 && cat out-x out-y out-z && mkdir -p d && mv out-x d/ && tar cf x.tar d && find . | wc -l",
    );
}

#[test]
fn python_runs_pools_semaphores_and_sockets() {
    if !exists("python3") {
        return;
    }
    let stage = Stage::new();
    let test = "import multiprocessing, socket, sqlite3, tempfile, threading, unittest\n\
        def twice(x): return 2 * x\n\
        class T(unittest.TestCase):\n\
        \x20   def test_pool(self):\n\
        \x20       with multiprocessing.Pool(2) as pool: self.assertEqual(pool.map(twice, [1, 2]), [2, 4])\n\
        \x20   def test_lock(self):\n\
        \x20       with multiprocessing.Semaphore(1): pass\n\
        \x20   def test_sockets(self):\n\
        \x20       s = socket.create_server(('localhost', 0)); c = socket.create_connection(s.getsockname()); c.close(); s.close()\n\
        \x20   def test_files(self):\n\
        \x20       with tempfile.NamedTemporaryFile() as f: f.write(b'x')\n\
        \x20       sqlite3.connect('db').execute('create table t (x)')\n";
    stage.write("work/test_all.py", test);
    works(&stage, "python3 -m unittest -q test_all");
}

#[test]
fn terminals_temporary_files_and_shared_memory_are_there() {
    let stage = Stage::new();
    assert_eq!(stage.attempt(&["terminal"]).out, "ok true\n");
    works(&stage, "echo one > /tmp/kept && echo x > /dev/shm/x && echo y > /dev/stderr && mktemp");
    assert_eq!(works(&stage, "cat /tmp/kept /var/tmp/kept"), "one\none\n", "within a run");
    assert_eq!(works(&stage, "ls /dev/shm; echo end"), "end\n");
    assert_eq!(works(&stage, "id -u").trim(), unsafe { libc::getuid() }.to_string());
    works(&stage, "head -c 50000000 /dev/zero > big && cp big big2 && rm big big2");
    works(
        &stage,
        "mkdir -p d e && echo x > d/f && mv d/f e/ && ln e/f d/g && ln -s e l && cat l/f && rm -r d e l",
    );
}

#[test]
fn a_program_can_be_given_a_terminal() {
    if !exists("script") {
        return;
    }
    let stage = Stage::new();
    let said = works(
        &stage,
        "test -c /dev/ptmx && mount | grep -q '^devpts on /dev/pts ' && script -qec tty /dev/null",
    );
    assert!(said.trim().starts_with("/dev/pts/"), "{said}");
    let said =
        works(&stage, "script -qec 'stty size; test -t 0 && test -t 1 && echo both' /dev/null </dev/null");
    assert!(said.contains("both"), "{said}");
    // The machine's own terminals are not among them.
    assert_eq!(works(&stage, "ls /dev/pts").trim(), "ptmx");
}

#[test]
fn connections_wait_for_a_server_that_is_busy() {
    if !exists("python3") {
        return;
    }
    let stage = Stage::new();
    let test = "import socket\n\
        server = socket.create_server(('127.0.0.1', 0), backlog=64)\n\
        waiting = [socket.create_connection(server.getsockname(), timeout=5) for _ in range(50)]\n\
        for client in waiting: client.sendall(b'x')\n\
        taken = [server.accept()[0].recv(1) for _ in waiting]\n\
        print(len(taken), open('/proc/sys/net/core/somaxconn').read())\n";
    stage.write("work/backlog.py", test);
    let said = works(&stage, "python3 backlog.py");
    let numbers: Vec<u32> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert!(numbers[0] == 50 && numbers[1] >= 128, "{said}");
}

#[test]
fn files_are_bounded() {
    let stage = Stage::new();
    let mut spec = stage.spec(&["/bin/sh", "-c", "head -c 2000000 /dev/zero > big; stat -c %s big"]);
    spec.limits.file_bytes = 1_000_000;
    let done = stage.run(&spec);
    assert_eq!((done.outcome.clone(), done.out.trim()), (Outcome::Started, "1000000"), "{done:?}");
}

#[test]
fn a_cache_that_takes_no_overlay_is_read_only() {
    let stage = Stage::new();
    stage.write("home/.cache-dir/old", "old");
    // The kernel takes no upper directory that is beneath the lower one.
    for name in ["home/.cache-dir/upper", "home/.cache-dir/kernel-work"] {
        std::fs::create_dir(stage.root.join(name)).expect("a directory");
    }
    let mut spec = stage.spec(&["/bin/sh", "-c", "cat $HOME/.cache-dir/old; echo x > $HOME/.cache-dir/old"]);
    spec.cache_overlays = vec![Overlay {
        target: stage.home.join(".cache-dir"),
        upper: stage.home.join(".cache-dir/upper"),
        work: stage.home.join(".cache-dir/kernel-work"),
        kept: false,
    }];
    let done = stage.run(&spec);
    assert_eq!((done.outcome.clone(), done.out.as_str()), (Outcome::Started, "old"), "{done:?}");
    assert_eq!(std::fs::read_to_string(stage.home.join(".cache-dir/old")).expect("a file"), "old");
}

#[test]
fn debuggers_can_trace_their_own() {
    if !exists("strace") {
        return;
    }
    let stage = Stage::new();
    works(&stage, "strace -f -o trace /bin/true && grep -q execve trace");
}

#[test]
fn a_driver_in_any_directory_and_a_call_in_any_starts_where_it_says() {
    let stage = Stage::new();
    let mut spec = stage.spec(&["/bin/pwd"]);
    spec.cwd = stage.workspace.join("a/b");
    assert_eq!(stage.run(&spec).out.trim(), spec.cwd.to_str().expect("text"));
    std::os::unix::fs::symlink(&stage.workspace, stage.root.join("link")).expect("a link");
    let mut spec = stage.spec(&["/bin/sh", "-c", "echo x > by-link"]);
    (spec.workspace, spec.cwd) = (stage.root.join("link"), stage.root.join("link"));
    assert_eq!(stage.run(&spec).code, Some(0));
    assert!(stage.workspace.join("by-link").exists());
}

#[test]
fn a_package_cache_has_a_layer_of_the_workspaces_own() {
    let stage = Stage::new();
    stage.write("home/.cache-dir/old", "old");
    for name in ["upper", "kernel-work"] {
        std::fs::create_dir(stage.root.join(name)).expect("a directory");
    }
    let cache = Overlay {
        target: stage.home.join(".cache-dir"),
        upper: stage.root.join("upper"),
        work: stage.root.join("kernel-work"),
        kept: true,
    };
    for (script, expected) in [
        ("cat $HOME/.cache-dir/old; echo new > $HOME/.cache-dir/new; echo x > $HOME/.cache-dir/old", "old"),
        ("cat $HOME/.cache-dir/new $HOME/.cache-dir/old", "new\nx\n"),
    ] {
        let mut spec = stage.spec(&["/bin/sh", "-c", script]);
        spec.cache_overlays = vec![cache.clone()];
        let done = stage.run(&spec);
        assert_eq!((done.code, done.out.as_str()), (Some(0), expected), "{done:?}");
    }
    assert_eq!(std::fs::read_to_string(stage.home.join(".cache-dir/old")).expect("a file"), "old");
    assert!(!stage.home.join(".cache-dir/new").exists());
}

#[test]
fn the_helper_word_without_a_request_does_nothing() {
    for arguments in [&["__sandbox"][..], &["__sandbox", "77"], &["__sandbox", "x"]] {
        let done = std::process::Command::new(HELPER).args(arguments).output().expect("a child");
        assert_eq!(done.status.code(), Some(125), "{arguments:?}");
    }
}

/// A registry in a directory, with one package that is packed.
const REGISTRY: &str = r#"
set -e
mkdir -p dep-0.1.0/src registry/index/3/d home/.cargo work/src
printf '[package]\nname = "dep"\nversion = "0.1.0"\nedition = "2021"\n' > dep-0.1.0/Cargo.toml
printf 'pub fn answer() -> u32 { 42 }\n' > dep-0.1.0/src/lib.rs
tar czf registry/dep-0.1.0.crate dep-0.1.0
sum=$(sha256sum registry/dep-0.1.0.crate | cut -d' ' -f1)
printf '{"name":"dep","vers":"0.1.0","deps":[],"cksum":"%s","features":{},"yanked":false}\n' $sum > registry/index/3/d/dep
printf '[source.crates-io]\nreplace-with = "here"\n[source.here]\nlocal-registry = "%s/registry"\n' "$PWD" > home/.cargo/config.toml
printf '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\ndep = "0.1"\n[workspace]\n' > work/Cargo.toml
printf 'fn main() { println!("{}", dep::answer()); }\n' > work/src/main.rs
"#;

#[test]
fn a_package_that_is_not_unpacked_yet_is_built_and_the_cache_stays_as_it_was() {
    let Some(cargo) = std::env::var_os("CARGO").map(std::path::PathBuf::from) else { return };
    let stage = Stage::new();
    let made = std::process::Command::new("/bin/sh").args(["-c", REGISTRY]).current_dir(&stage.root).status();
    assert!(made.expect("a shell").success());
    for name in ["upper", "kernel-work"] {
        std::fs::create_dir(stage.root.join(name)).expect("a directory");
    }
    let tools = cargo.parent().expect("a directory");
    let build = |with_overlay: bool| {
        let mut spec = stage.spec(&[cargo.to_str().expect("text"), "run", "-q", "--offline"]);
        spec.env.push(("RUSTC".into(), tools.join("rustc").into()));
        if with_overlay {
            spec.cache_overlays = vec![Overlay {
                target: stage.home.join(".cargo"),
                upper: stage.root.join("upper"),
                work: stage.root.join("kernel-work"),
                kept: false,
            }];
        }
        stage.run(&spec)
    };
    let before = stage.canaries();
    let done = build(false);
    assert!(done.code != Some(0) && done.err.contains("Read-only file system"), "{done:?}");
    let done = build(true);
    assert_eq!((done.code, done.out.as_str()), (Some(0), "42\n"), "{done:?}");
    assert_eq!(stage.canaries(), before);
    let unpacked = std::fs::read_dir(stage.root.join("upper/registry/src")).expect("a directory");
    assert_eq!(unpacked.count(), 1, "it was unpacked beside the cache");
}
