//! `ls`, `stat`, `chmod`, `chown`, `chgrp`, `cp`, `test`.

use vfs::VPath;

use crate::commands::stage::{Stage, text};

async fn with_files() -> Stage {
    let stage = Stage::new().await;
    stage.write("alice", "~/d/one.txt", "1", 0o644).await;
    stage.write("alice", "~/d/two.sh", "22", 0o755).await;
    stage.write("alice", "~/d/.dot", "", 0o600).await;
    stage.write("alice", "~/d/sub/deep", "x", 0o640).await;
    let view = stage.view("alice");
    view.symlink("one.txt", &VPath::absolute("/home/alice/d/link").unwrap()).await.unwrap();
    stage
}

#[tokio::test]
async fn ls_lists_one_name_per_line() {
    let stage = with_files().await;
    assert_eq!(stage.prints(&["ls", "d"]).await, "link\none.txt\nsub\ntwo.sh\n");
    assert_eq!(stage.prints(&["ls", "-A", "d"]).await, ".dot\nlink\none.txt\nsub\ntwo.sh\n");
    assert_eq!(stage.prints(&["ls", "-a", "d/sub"]).await, ".\n..\ndeep\n");
    assert_eq!(stage.prints(&["ls", "-r", "d"]).await, "two.sh\nsub\none.txt\nlink\n");
    assert_eq!(stage.prints(&["ls", "-F", "d"]).await, "link@\none.txt\nsub/\ntwo.sh*\n");
    assert_eq!(stage.prints(&["ls", "-d", "d"]).await, "d\n");
    assert_eq!(stage.prints(&["ls", "--color=auto", "d/one.txt"]).await, "d/one.txt\n");
    assert_eq!(stage.prints(&["ls", "d/one.txt", "d/sub"]).await, "d/one.txt\n\nd/sub:\ndeep\n");
    assert_eq!(stage.prints(&["ls", "-R", "d"]).await, "d:\nlink\none.txt\nsub\ntwo.sh\n\nd/sub:\ndeep\n");
    assert_eq!(stage.prints(&["ls", "-S", "d/one.txt", "d/two.sh"]).await, "d/two.sh\nd/one.txt\n");
}

#[tokio::test]
async fn ls_long_shows_owners_by_name_and_where_links_lead() {
    let stage = with_files().await;
    let listing = stage.prints(&["ls", "-l", "d"]).await;
    let lines: Vec<&str> = listing.lines().collect();
    assert_eq!(lines[0], "total 4");
    assert!(lines[1].starts_with("lrwxrwxrwx 1 alice alice "), "{listing}");
    assert!(lines[1].ends_with(" link -> one.txt"), "{listing}");
    assert_eq!(lines[2], format!("-rw-r--r-- 1 alice alice {:>1$} Nov 15 11:59 one.txt", 1, width(lines[2])));
    assert!(lines[4].starts_with("-rwxr-xr-x 1 alice alice "), "{listing}");
    let numbers = stage.prints(&["ls", "-n", "d/one.txt"]).await;
    assert_eq!(numbers, "-rw-r--r-- 1 1000 1000 1 Nov 15 11:59 d/one.txt\n");
    let old = stage.view("alice");
    old.set_modified(&old.path("d/one.txt").unwrap(), 1_600_000_000_000).await.unwrap();
    assert_eq!(
        stage.prints(&["ls", "-l", "d/one.txt"]).await,
        "-rw-r--r-- 1 alice alice 1 Sep 13  2020 d/one.txt\n"
    );
    assert_eq!(stage.prints(&["ls", "-t", "d/one.txt", "d/two.sh"]).await, "d/two.sh\nd/one.txt\n");
    assert!(stage.prints(&["ls", "-ld", "/"]).await.starts_with("drwxr-xr-x 1 root root "));
}

fn width(line: &str) -> usize {
    line.split_once("alice alice ").unwrap().1.find(" Nov").unwrap()
}

#[tokio::test]
async fn ls_says_what_it_cannot_list_and_goes_on() {
    let stage = with_files().await;
    let done = stage.run("alice", &["ls", "nope", "d/one.txt"]).await;
    assert_eq!(text(&done.stderr), "ls: cannot access 'nope': No such file or directory\n");
    assert_eq!((text(&done.stdout).as_str(), done.code), ("d/one.txt\n", 2));
    let done = stage.run("bob", &["ls", "/home/alice"]).await;
    assert_eq!(text(&done.stderr), "ls: cannot open directory '/home/alice': Permission denied\n");
    assert_eq!(done.code, 2);
    let done = stage.run("bob", &["ls", "/home/alice/d"]).await;
    assert_eq!(text(&done.stderr), "ls: cannot access '/home/alice/d': Permission denied\n");
    assert_eq!(stage.fails(&["ls", "-Z"]).await.0, 2);
}

#[tokio::test]
async fn stat_prints_what_it_is_asked_for() {
    let stage = with_files().await;
    let format = "%n|%s|%F|%a|%A|%u|%U|%g|%G|%Y|%%|%q";
    let line = stage.prints(&["stat", "-c", format, "d/one.txt"]).await;
    assert_eq!(line, "d/one.txt|1|regular file|644|-rw-r--r--|1000|alice|1000|alice|1794743940|%|%q\n");
    assert_eq!(
        stage.prints(&["stat", "-c", "%N %F", "d/link"]).await,
        "'d/link' -> 'one.txt' symbolic link\n"
    );
    assert_eq!(stage.prints(&["stat", "-L", "-c", "%F", "d/link"]).await, "regular file\n");
    assert_eq!(stage.prints(&["stat", "-c", "%F", "d/.dot", "d"]).await, "regular empty file\ndirectory\n");
    assert_eq!(stage.prints(&["stat", "--printf", "%s\\n%05a", "d/one.txt"]).await, "1\n00644");
    let time = stage.prints(&["stat", "-c", "%y", "d/one.txt"]).await;
    assert_eq!(time, "2026-11-15 11:59:00.000000000 +0000\n");
    let whole = stage.prints(&["stat", "d/one.txt"]).await;
    assert!(whole.contains("File: d/one.txt\n"), "{whole}");
    assert!(whole.contains("Access: (0644/-rw-r--r--)  Uid: (1000/alice)   Gid: (1000/alice)\n"), "{whole}");
    let missing = "stat: cannot statx 'nope': No such file or directory\n".to_string();
    assert_eq!(stage.fails(&["stat", "nope"]).await, (1, missing));
    assert_eq!(stage.fails(&["stat"]).await, (1, "stat: missing operand\n".to_string()));
}

#[tokio::test]
async fn chmod_changes_what_the_owner_has() {
    let stage = with_files().await;
    stage.prints(&["chmod", "600", "d/one.txt"]).await;
    assert_eq!(stage.stat("/home/alice/d/one.txt").await.mode, 0o600);
    stage.prints(&["chmod", "u+x,go=r", "d/one.txt"]).await;
    assert_eq!(stage.stat("/home/alice/d/one.txt").await.mode, 0o744);
    stage.prints(&["chmod", "-x", "d/one.txt"]).await;
    assert_eq!(stage.stat("/home/alice/d/one.txt").await.mode, 0o644);
    stage.prints(&["chmod", "-R", "go-rwx,u+X", "d"]).await;
    assert_eq!(stage.stat("/home/alice/d/sub").await.mode, 0o700);
    assert_eq!(stage.stat("/home/alice/d/sub/deep").await.mode, 0o600);
    assert_eq!(stage.stat("/home/alice/d/two.sh").await.mode, 0o700);
    let said = stage.prints(&["chmod", "-v", "644", "d/one.txt"]).await;
    assert_eq!(said, "mode of 'd/one.txt' changed from 0600 (rw-------) to 0644 (rw-r--r--)\n");
    assert_eq!(stage.fails(&["chmod", "9z", "d"]).await, (1, "chmod: invalid mode: '9z'\n".to_string()));
    assert_eq!(stage.fails(&["chmod"]).await, (1, "chmod: missing operand\n".to_string()));
    assert_eq!(stage.fails(&["chmod", "644"]).await, (1, "chmod: missing operand after '644'\n".to_string()));
    let missing = "chmod: cannot access 'nope': No such file or directory\n".to_string();
    assert_eq!(stage.fails(&["chmod", "644", "nope"]).await, (1, missing));
    let foreign = stage.fails(&["chmod", "777", "/etc"]).await;
    assert_eq!(foreign, (1, "chmod: changing permissions of '/etc': Operation not permitted\n".to_string()));
}

#[tokio::test]
async fn chown_is_for_root_and_chgrp_for_the_owner() {
    let stage = with_files().await;
    let refused = stage.fails(&["chown", "bob", "d/one.txt"]).await;
    assert_eq!(
        refused,
        (1, "chown: changing ownership of 'd/one.txt': Operation not permitted\n".to_string())
    );
    stage.prints(&["chgrp", "users", "d/one.txt"]).await;
    assert_eq!(stage.stat("/home/alice/d/one.txt").await.gid.0, 100);
    let done = stage.run("root", &["chown", "-R", "bob:users", "/home/alice/d"]).await;
    assert_eq!((done.code, text(&done.stderr).as_str()), (0, ""));
    let stat = stage.stat("/home/alice/d/sub/deep").await;
    assert_eq!((stat.uid.0, stat.gid.0), (1001, 100));
    stage.run("root", &["chown", "1000:", "/home/alice/d/one.txt"]).await;
    let stat = stage.stat("/home/alice/d/one.txt").await;
    assert_eq!((stat.uid.0, stat.gid.0), (1000, 1000));
    stage.run("root", &["chown", ":100", "/home/alice/d/one.txt"]).await;
    assert_eq!(stage.stat("/home/alice/d/one.txt").await.gid.0, 100);
    assert_eq!(
        stage.fails(&["chown", "nobody", "d"]).await,
        (1, "chown: invalid user: 'nobody'\n".to_string())
    );
    assert_eq!(stage.fails(&["chgrp", "nope", "d"]).await, (1, "chgrp: invalid group: 'nope'\n".to_string()));
}

#[tokio::test]
async fn cp_copies_files_directories_and_links() {
    let stage = with_files().await;
    stage.prints(&["cp", "d/two.sh", "copy"]).await;
    assert_eq!(stage.text("/home/alice/copy").await, "22");
    assert_eq!(stage.stat("/home/alice/copy").await.mode, 0o755);
    let said = stage.prints(&["cp", "-rv", "d", "e"]).await;
    assert!(said.contains("'d/sub/deep' -> 'e/sub/deep'\n"), "{said}");
    assert_eq!(stage.text("/home/alice/e/sub/deep").await, "x");
    assert_eq!(stage.prints(&["stat", "-c", "%N", "e/link"]).await, "'e/link' -> 'one.txt'\n");
    stage.prints(&["cp", "d/link", "followed"]).await;
    assert_eq!(stage.prints(&["stat", "-c", "%F", "followed"]).await, "regular file\n");
    stage.prints(&["cp", "-r", "d", "e"]).await;
    assert_eq!(stage.text("/home/alice/e/d/one.txt").await, "1");
    stage.prints(&["cp", "-p", "d/one.txt", "kept"]).await;
    assert_eq!(stage.prints(&["stat", "-c", "%Y", "kept"]).await, "1794743940\n");
    stage.prints(&["cp", "-n", "d/two.sh", "kept"]).await;
    assert_eq!(stage.text("/home/alice/kept").await, "1");
    stage.prints(&["cp", "-t", "e/sub", "d/one.txt", "d/two.sh"]).await;
    assert_eq!(stage.text("/home/alice/e/sub/two.sh").await, "22");
}

#[tokio::test]
async fn cp_refuses_in_the_words_people_know() {
    let stage = with_files().await;
    let fails = async |line: &[&str]| stage.fails(line).await.1;
    assert_eq!(fails(&["cp"]).await, "cp: missing file operand\n");
    assert_eq!(fails(&["cp", "x"]).await, "cp: missing destination file operand after 'x'\n");
    assert_eq!(fails(&["cp", "nope", "x"]).await, "cp: cannot stat 'nope': No such file or directory\n");
    assert_eq!(fails(&["cp", "d", "x"]).await, "cp: -r not specified; omitting directory 'd'\n");
    assert_eq!(
        fails(&["cp", "d/one.txt", "./d/one.txt"]).await,
        "cp: 'd/one.txt' and './d/one.txt' are the same file\n"
    );
    assert_eq!(
        fails(&["cp", "-r", "d", "d/sub"]).await,
        "cp: cannot copy a directory, 'd', into itself, 'd/sub/d'\n"
    );
    assert_eq!(
        fails(&["cp", "d/one.txt", "d/two.sh", "kept"]).await,
        "cp: target 'kept': No such file or directory\n"
    );
    assert_eq!(
        fails(&["cp", "d/one.txt", "/etc/x"]).await,
        "cp: cannot create regular file '/etc/x': Permission denied\n"
    );
    let across = fails(&["cp", "mac:/etc/hosts", "x"]).await;
    assert!(across.contains("gsv cp"), "{across}");
    let done = stage.run("bob", &["cp", "/home/alice/d/one.txt", "x"]).await;
    assert_eq!(text(&done.stderr), "cp: cannot stat '/home/alice/d/one.txt': Permission denied\n");
}

#[tokio::test]
async fn test_asks_the_tree_what_the_caller_may_do() {
    let mut stage = with_files().await;
    stage.write("root", "/tmp/open", "x", 0o644).await;
    stage.write("root", "/tmp/closed", "x", 0o600).await;
    stage.write("root", "/tmp/program", "x", 0o755).await;
    stage.variables.insert("name".to_string(), String::new());
    let yes: &[&[&str]] = &[
        &["-r", "/tmp/open"],
        &["-x", "/tmp/program"],
        &["!", "-w", "/tmp/open"],
        &["!", "-r", "/tmp/closed"],
        &["!", "-x", "/tmp/open"],
        &["-e", "/tmp/closed", "-a", "-s", "/tmp/closed"],
        &["-w", "d/one.txt"],
        &["-O", "d/one.txt"],
        &["!", "-O", "/tmp/open"],
        &["-G", "d/one.txt"],
        &["-L", "d/link"],
        &["-f", "d/link"],
        &["-d", "d"],
        &["!", "-s", "d/.dot"],
        &["d/link", "-ef", "d/one.txt"],
        &["d/one.txt", "-nt", "nope"],
        &["nope", "-ot", "d/one.txt"],
        &["-v", "name"],
        &["!", "-v", "other"],
        &["!", "-e", ""],
        &["a", "!=", "b"],
        &["-1", "-lt", " 2 "],
        &["(", "x", "=", "y", ")", "-o", "-n", "z"],
        &["word"],
        &["-c", "/dev/null"],
    ];
    for words in yes {
        let line: Vec<&str> = std::iter::once("test").chain(words.iter().copied()).collect();
        assert_eq!(stage.run("alice", &line).await.code, 0, "{words:?}");
        let line: Vec<&str> = std::iter::once("[").chain(words.iter().copied()).chain(["]"]).collect();
        assert_eq!(stage.run("alice", &line).await.code, 0, "{words:?}");
    }
    assert_eq!(stage.run("alice", &["test"]).await.code, 1);
    assert_eq!(stage.run("root", &["test", "-r", "/tmp/closed"]).await.code, 0);
    assert_eq!(stage.fails(&["[", "x"]).await, (2, "[: missing `]'\n".to_string()));
    let odd = stage.fails(&["test", "a", "-eq", "1"]).await;
    assert_eq!(odd, (2, "test: a: integer expression expected\n".to_string()));
}
