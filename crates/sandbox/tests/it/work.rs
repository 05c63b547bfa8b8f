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
