//! `mkdir`, `rmdir`, `rm`, `mv`, `ln`, `readlink`, `realpath`, `mktemp`, `touch`.

use vfs::{FileKind, Follow, VPath};

use crate::commands::stage::{NOW_MS, Stage, text};

async fn with_files() -> Stage {
    let stage = Stage::new().await;
    stage.write("alice", "~/a.txt", "a\n", 0o644).await;
    stage.write("alice", "~/b.txt", "b\n", 0o600).await;
    stage.write("alice", "~/d/deep/one", "1\n", 0o644).await;
    stage.prints(&["ln", "-s", "d/deep", "short"]).await;
    stage
}

async fn is_there(stage: &Stage, path: &str) -> bool {
    stage.view("root").stat(&VPath::absolute(path).unwrap(), Follow::No).await.is_ok()
}

#[tokio::test]
async fn mkdir_makes_directories_with_modes() {
    let mut stage = Stage::new().await;
    assert_eq!(stage.prints(&["mkdir", "-v", "x"]).await, "mkdir: created directory 'x'\n");
    assert_eq!(stage.stat("/home/alice/x").await.mode, 0o755);
    assert_eq!(
        stage.fails(&["mkdir", "x"]).await,
        (1, "mkdir: cannot create directory 'x': File exists\n".into())
    );
    let (_, why) = stage.fails(&["mkdir", "no/x"]).await;
    assert_eq!(why, "mkdir: cannot create directory 'no/x': No such file or directory\n");
    let made = "mkdir: created directory 'p'\nmkdir: created directory 'p/q'\n";
    assert_eq!(stage.prints(&["mkdir", "-pv", "-m", "u=rwx,go=", "p/q"]).await, made);
    assert_eq!(
        (stage.stat("/home/alice/p").await.mode, stage.stat("/home/alice/p/q").await.mode),
        (0o755, 0o700)
    );
    assert_eq!(stage.prints(&["mkdir", "-p", "p/q/", "/home/alice/p//q", "p/./q/../q"]).await, "");
    assert_eq!(stage.fails(&["mkdir", "-m", "9", "y"]).await.1, "mkdir: invalid mode '9'\n");
    stage.write("alice", "~/f", "", 0o644).await;
    assert_eq!(
        stage.fails(&["mkdir", "-p", "f"]).await.1,
        "mkdir: cannot create directory 'f': File exists\n"
    );
    assert_eq!(
        stage.fails(&["mkdir", "-p", "f/g"]).await.1,
        "mkdir: cannot create directory 'f': Not a directory\n"
    );
    stage.variables.insert("_UMASK".to_string(), "0077".to_string());
    stage.prints(&["mkdir", "private"]).await;
    assert_eq!(stage.stat("/home/alice/private").await.mode, 0o700);
    let done = stage.run("bob", &["mkdir", "/home/alice/bobs"]).await;
    assert_eq!((done.code, is_there(&stage, "/home/alice/bobs").await), (1, false));
}

#[tokio::test]
async fn mkdir_p_goes_through_links() {
    let stage = with_files().await;
    stage.prints(&["mkdir", "-p", "short", "short/new/er"]).await;
    assert_eq!(stage.stat("/home/alice/d/deep/new/er").await.kind, FileKind::Directory);
}

#[tokio::test]
async fn rmdir_removes_only_empty_directories() {
    let stage = with_files().await;
    assert_eq!(stage.fails(&["rmdir", "d"]).await.1, "rmdir: failed to remove 'd': Directory not empty\n");
    assert_eq!(stage.prints(&["rmdir", "--ignore-fail-on-non-empty", "d"]).await, "");
    assert_eq!(
        stage.fails(&["rmdir", "a.txt"]).await.1,
        "rmdir: failed to remove 'a.txt': Not a directory\n"
    );
    assert_eq!(
        stage.fails(&["rmdir", "short"]).await.1,
        "rmdir: failed to remove 'short': Not a directory\n"
    );
    stage.prints(&["mkdir", "-p", "p/q/r"]).await;
    let said = stage.prints(&["rmdir", "-pv", "p/q/r/"]).await;
    assert_eq!(said.lines().last(), Some("rmdir: removing directory, 'p'"));
    assert!(!is_there(&stage, "/home/alice/p").await);
}

#[tokio::test]
async fn rm_removes_and_says_what() {
    let stage = with_files().await;
    assert_eq!(stage.prints(&["rm", "-v", "a.txt", "short"]).await, "removed 'a.txt'\nremoved 'short'\n");
    assert!(is_there(&stage, "/home/alice/d/deep/one").await);
    assert_eq!(stage.fails(&["rm", "d"]).await, (1, "rm: cannot remove 'd': Is a directory\n".into()));
    assert_eq!(stage.fails(&["rm", "no"]).await.1, "rm: cannot remove 'no': No such file or directory\n");
    assert_eq!(stage.prints(&["rm", "-f", "no"]).await, "");
    assert_eq!(stage.prints(&["rm", "-f"]).await, "");
    let said = "removed 'd/deep/one'\nremoved directory 'd/deep'\nremoved directory 'd'\n";
    assert_eq!(stage.prints(&["rm", "-rv", "d"]).await, said);
    stage.write("alice", "~/-f", "", 0o644).await;
    assert_eq!(stage.prints(&["rm", "--", "-f"]).await, "");
    stage.prints(&["mkdir", "e"]).await;
    assert_eq!(stage.prints(&["rm", "-dv", "e"]).await, "removed directory 'e'\n");
}

#[tokio::test]
async fn rm_never_removes_what_was_not_meant() {
    let stage = with_files().await;
    for operand in ["/", ".", "..", "d/..", "d/."] {
        let (code, why) = stage.fails(&["rm", "-rf", operand]).await;
        assert_eq!(code, 1, "{why}");
        assert!(is_there(&stage, "/home/alice/d/deep/one").await, "{operand}");
    }
    // The shell has spoken about `~` already: this is a file of that name.
    stage.write("alice", "./~/x", "", 0o644).await;
    stage.prints(&["rm", "-r", "~"]).await;
    assert!(is_there(&stage, "/home/alice/a.txt").await);
    assert!(!is_there(&stage, "/home/alice/~").await);
    // Above where the link leads, not above the link.
    stage.write("alice", "~/d/a.txt", "", 0o644).await;
    stage.prints(&["rm", "short/../a.txt"]).await;
    assert!(is_there(&stage, "/home/alice/a.txt").await);
    assert!(!is_there(&stage, "/home/alice/d/a.txt").await);
}

#[tokio::test]
async fn rm_refuses_homes_and_mount_points_before_it_empties_them() {
    let stage = with_files().await;
    stage.prints(&["ln", "-s", "/home", "homes"]).await;
    for home in ["/home/alice", "/home/alice/", "//home/./alice", "../alice", "d/../../alice", "homes/alice"]
    {
        for how in ["-rf", "-rv", "-rd"] {
            let (code, why) = stage.fails(&["rm", how, home]).await;
            let said = format!("rm: refusing to remove '{home}': '/home/alice' is a home\n");
            assert_eq!((code, why), (1, said), "{how}");
        }
    }
    stage.write("root", "/tmp/theirs", "", 0o644).await;
    for mount in
        ["/home", "/tmp", "/var", "/etc", "/usr", "/root", "/workspaces", "/proc", "/dev", "/sys/users"]
    {
        let done = stage.run("root", &["rm", "-rf", mount]).await;
        assert!(
            text(&done.stderr).starts_with(&format!("rm: refusing to remove '{mount}'")),
            "{mount}: {done:?}"
        );
    }
    for path in ["/home/alice/a.txt", "/home/alice/d/deep/one", "/tmp/theirs", "/home/alice/homes"] {
        assert!(is_there(&stage, path).await, "{path}");
    }
}

#[tokio::test]
async fn rm_says_when_it_was_refused_even_with_f() {
    let stage = with_files().await;
    stage.write("alice", "~/d/open/two", "2\n", 0o644).await;
    stage.prints(&["chmod", "500", "d/deep"]).await;
    let (code, why) = stage.fails(&["rm", "-rf", "d"]).await;
    assert_eq!((code, why.as_str()), (1, "rm: cannot remove 'd/deep/one': Permission denied\n"));
    assert!(is_there(&stage, "/home/alice/d/deep/one").await);
    assert!(!is_there(&stage, "/home/alice/d/open").await);
    let done = stage.run("bob", &["rm", "-f", "/home/alice/a.txt"]).await;
    assert_eq!((done.code, is_there(&stage, "/home/alice/a.txt").await), (1, true));
}

#[tokio::test]
async fn rm_asks_and_takes_its_answers_from_what_is_piped_in() {
    let mut stage = with_files().await;
    let done = stage.run("alice", &["rm", "-i", "a.txt"]).await;
    assert_eq!((done.code, text(&done.stderr).as_str()), (0, "rm: remove regular file 'a.txt'? \n"));
    assert!(is_there(&stage, "/home/alice/a.txt").await);
    stage.stdin = b"n\nyes\n".to_vec();
    stage.run("alice", &["rm", "-i", "a.txt", "b.txt"]).await;
    assert!(is_there(&stage, "/home/alice/a.txt").await);
    assert!(!is_there(&stage, "/home/alice/b.txt").await);
}

#[tokio::test]
async fn mv_renames_and_moves() {
    let stage = with_files().await;
    assert_eq!(stage.prints(&["mv", "-v", "a.txt", "c.txt"]).await, "renamed 'a.txt' -> 'c.txt'\n");
    assert_eq!(stage.prints(&["mv", "-v", "c.txt", "b.txt", "d"]).await.lines().count(), 2);
    assert_eq!(stage.text("/home/alice/d/c.txt").await, "a\n");
    stage.prints(&["mv", "-t", ".", "d/c.txt", "d/b.txt"]).await;
    stage.prints(&["mv", "d", "e"]).await;
    assert_eq!(stage.text("/home/alice/e/deep/one").await, "1\n");
    let (_, why) = stage.fails(&["mv", "no", "x"]).await;
    assert_eq!(why, "mv: cannot stat 'no': No such file or directory\n");
    assert!(stage.fails(&["mv", "e", "e/deep/x"]).await.1.contains("to a subdirectory of itself"));
    assert!(stage.fails(&["mv", "c.txt", "./c.txt"]).await.1.contains("are the same file"));
    assert!(stage.fails(&["mv", "c.txt", "b.txt", "nodir"]).await.1.contains("target 'nodir'"));
    let (_, why) = stage.fails(&["mv", "-T", "c.txt", "e"]).await;
    assert_eq!(why, "mv: cannot overwrite directory 'e' with non-directory 'c.txt'\n");
    let (_, why) = stage.fails(&["mv", "e", "c.txt"]).await;
    assert_eq!(why, "mv: cannot overwrite non-directory 'c.txt' with directory 'e'\n");
    assert_eq!(stage.run("bob", &["mv", "/home/alice/c.txt", "/tmp/c"]).await.code, 1);
}

#[tokio::test]
async fn mv_replaces_only_what_it_may() {
    let mut stage = with_files().await;
    stage.prints(&["mv", "-n", "a.txt", "b.txt"]).await;
    assert_eq!(stage.text("/home/alice/b.txt").await, "b\n");
    // Both have the same time.
    stage.prints(&["mv", "-u", "a.txt", "b.txt"]).await;
    assert_eq!(stage.text("/home/alice/b.txt").await, "b\n");
    assert_eq!(stage.run("alice", &["mv", "-i", "a.txt", "b.txt"]).await.code, 0);
    assert_eq!(stage.text("/home/alice/b.txt").await, "b\n");
    stage.stdin = b"y\n".to_vec();
    stage.run("alice", &["mv", "-i", "a.txt", "b.txt"]).await;
    assert_eq!(stage.text("/home/alice/b.txt").await, "a\n");
    assert!(!is_there(&stage, "/home/alice/a.txt").await);
}

#[tokio::test]
async fn ln_makes_symbolic_links_only() {
    let stage = with_files().await;
    assert_eq!(stage.prints(&["ln", "-sv", "a.txt", "l"]).await, "'l' -> 'a.txt'\n");
    assert_eq!(
        stage.fails(&["ln", "-s", "b.txt", "l"]).await.1,
        "ln: failed to create symbolic link 'l': File exists\n"
    );
    stage.prints(&["ln", "-sf", "b.txt", "l"]).await;
    assert_eq!(stage.prints(&["readlink", "l"]).await, "b.txt\n");
    stage.prints(&["ln", "-s", "../a.txt", "../b.txt", "d"]).await;
    assert_eq!(stage.prints(&["readlink", "d/a.txt", "d/b.txt"]).await, "../a.txt\n../b.txt\n");
    stage.prints(&["ln", "-sfn", "d", "short"]).await;
    assert_eq!(stage.prints(&["readlink", "short"]).await, "d\n");
    stage.prints(&["ln", "-sr", "a.txt", "d/deep/r"]).await;
    assert_eq!(stage.prints(&["readlink", "d/deep/r"]).await, "../../a.txt\n");
    let (code, why) = stage.fails(&["ln", "a.txt", "hard"]).await;
    assert_eq!(
        (code, why.as_str()),
        (1, "ln: failed to create hard link 'hard' => 'a.txt': Function not implemented\n")
    );
    assert!(!is_there(&stage, "/home/alice/hard").await);
    assert!(stage.fails(&["ln", "no", "x"]).await.1.starts_with("ln: failed to access 'no'"));
    assert!(stage.fails(&["ln", "-sf", "a.txt", "a.txt"]).await.1.contains("are the same file"));
    assert_eq!(stage.text("/home/alice/a.txt").await, "a\n");
    assert_eq!(stage.fails(&["ln", "-sfT", "a.txt", "d"]).await.1, "ln: d: cannot overwrite directory\n");
}

#[tokio::test]
async fn readlink_and_realpath_follow_links_before_they_go_up() {
    let stage = with_files().await;
    assert_eq!(stage.prints(&["readlink", "short"]).await, "d/deep\n");
    assert_eq!(stage.fails(&["readlink", "a.txt"]).await, (1, String::new()));
    assert_eq!(stage.prints(&["readlink", "-f", "short/../x"]).await, "/home/alice/d/x\n");
    assert_eq!(stage.prints(&["readlink", "-n", "short"]).await, "d/deep");
    assert_eq!(stage.fails(&["readlink", "-e", "d/no"]).await, (1, String::new()));
    assert_eq!(stage.prints(&["readlink", "-m", "no/such/../dir"]).await, "/home/alice/no/dir\n");
    assert_eq!(
        stage.prints(&["realpath", "short/one", "d/./deep/.."]).await,
        "/home/alice/d/deep/one\n/home/alice/d\n"
    );
    assert_eq!(stage.prints(&["realpath", "-s", "short/one"]).await, "/home/alice/short/one\n");
    assert_eq!(
        stage.prints(&["realpath", "--relative-to=d", "short/one", "a.txt"]).await,
        "deep/one\n../a.txt\n"
    );
    assert_eq!(
        stage.prints(&["realpath", "--relative-base=d", "short/one", "a.txt"]).await,
        "deep/one\n/home/alice/a.txt\n"
    );
    let (_, why) = stage.fails(&["realpath", "no/deep"]).await;
    assert_eq!(why, "realpath: no/deep: No such file or directory\n");
    assert_eq!(stage.fails(&["realpath", "a.txt/x"]).await.1, "realpath: a.txt/x: Not a directory\n");
    stage.prints(&["ln", "-s", "loop", "loop"]).await;
    assert!(stage.fails(&["realpath", "loop"]).await.1.contains("Too many levels of symbolic links"));
}

#[tokio::test]
async fn mktemp_makes_what_nobody_else_may_read() {
    let stage = Stage::new().await;
    let file = stage.prints(&["mktemp"]).await;
    let file = file.trim_end();
    assert!(file.starts_with("/tmp/tmp.") && file.len() == "/tmp/tmp.XXXXXXXXXX".len(), "{file}");
    assert_eq!((stage.stat(file).await.mode, stage.stat(file).await.size), (0o600, 0));
    let directory = stage.prints(&["mktemp", "-d", "./wk.XXXXXX"]).await;
    let path = format!("/home/alice/{}", directory.trim_end());
    assert_eq!((stage.stat(&path).await.kind, stage.stat(&path).await.mode), (FileKind::Directory, 0o700));
    let name = stage.prints(&["mktemp", "-u", "-p", "d", "x.XXX.txt"]).await;
    assert!(name.starts_with("d/x.") && name.ends_with(".txt\n"), "{name}");
    assert!(stage.prints(&["mktemp", "-u", "--tmpdir", "q.XXXX"]).await.starts_with("/tmp/q."));
    assert!(stage.prints(&["mktemp", "-u", "--suffix=.c", "-t", "q.XXXX"]).await.ends_with(".c\n"));
    assert_eq!(stage.fails(&["mktemp", "x.XX"]).await.1, "mktemp: too few X's in template 'x.XX'\n");
    let (_, why) = stage.fails(&["mktemp", "no/x.XXX"]).await;
    assert_eq!(why, "mktemp: failed to create file via template 'no/x.XXX': No such file or directory\n");
    assert_eq!(stage.fails(&["mktemp", "-q", "no/x.XXX"]).await, (1, String::new()));
}

#[tokio::test]
async fn touch_makes_files_and_sets_times() {
    let mut stage = with_files().await;
    stage.prints(&["touch", "new", "a.txt"]).await;
    let new = stage.stat("/home/alice/new").await;
    assert_eq!((new.size, new.mode, new.modified_ms), (0, 0o644, NOW_MS));
    assert_eq!(stage.stat("/home/alice/a.txt").await.modified_ms, NOW_MS);
    assert_eq!(stage.text("/home/alice/a.txt").await, "a\n");
    stage.prints(&["touch", "-c", "never"]).await;
    assert!(!is_there(&stage, "/home/alice/never").await);
    for (how, value, ms) in [
        ("-d", "2024-05-06 07:08:09", 1_714_979_289_000),
        ("-d", "@86400", 86_400_000),
        ("-t", "202301020304", 1_672_628_640_000),
        ("-t", "2301020304.05", 1_672_628_645_000),
        ("-r", "b.txt", NOW_MS - 60_000),
    ] {
        stage.prints(&["touch", how, value, "new"]).await;
        assert_eq!(stage.stat("/home/alice/new").await.modified_ms, ms, "{how} {value}");
    }
    assert_eq!(
        stage.fails(&["touch", "-d", "rubbish", "new"]).await.1,
        "touch: invalid date format 'rubbish'\n"
    );
    assert_eq!(
        stage.fails(&["touch", "no/x"]).await.1,
        "touch: cannot touch 'no/x': No such file or directory\n"
    );
    stage.variables.insert("_UMASK".to_string(), "0077".to_string());
    stage.prints(&["touch", "private"]).await;
    assert_eq!(stage.stat("/home/alice/private").await.mode, 0o600);
    stage.prints(&["ln", "-s", "made", "dangling"]).await;
    stage.prints(&["touch", "dangling"]).await;
    assert_eq!(stage.stat("/home/alice/made").await.kind, FileKind::File);
}

#[tokio::test]
async fn a_tree_named_by_way_of_a_link_is_changed_and_removed() {
    let stage = with_files().await;
    stage.prints(&["ln", "-s", "/home/alice", "d/home"]).await;
    stage.prints(&["chmod", "-R", "700", "short"]).await;
    assert_eq!(stage.stat("/home/alice/d/deep/one").await.mode, 0o700);
    stage.prints(&["chmod", "-R", "711", "d"]).await;
    assert_eq!(stage.stat("/home/alice/d/deep/one").await.mode, 0o711);
    // The link below leads out of what was named.
    assert_eq!(stage.stat("/home/alice/b.txt").await.mode, 0o600);
    assert_eq!(stage.run("root", &["chown", "-R", "root", "/home/alice/d"]).await.code, 0);
    assert_eq!(stage.stat("/home/alice/d/deep/one").await.uid.0, 0);
    assert_ne!(stage.stat("/home/alice/b.txt").await.uid.0, 0);
    assert_eq!(stage.run("root", &["chown", "-R", "alice", "/home/alice/d"]).await.code, 0);
    let removed = stage.prints(&["rm", "-rv", "d/home/d/deep"]).await;
    assert_eq!(removed, "removed 'd/home/d/deep/one'\nremoved directory 'd/home/d/deep'\n");
    stage.prints(&["rm", "-r", "d"]).await;
    assert!(is_there(&stage, "/home/alice/b.txt").await);
}
