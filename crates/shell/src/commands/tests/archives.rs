//! `gzip`, `gunzip`, `zcat`, `tar`.

use vfs::{Follow, VPath};

use crate::commands::stage::{NOW_MS, Stage, text};

async fn with_files() -> Stage {
    let stage = Stage::new().await;
    stage.write("alice", "~/n", "some text\n", 0o640).await;
    stage.write("alice", "~/src/main.c", "int main;\n", 0o644).await;
    stage.write("alice", "~/src/util.h", "h\n", 0o644).await;
    stage.write("alice", "~/src/run.sh", "#!\n", 0o755).await;
    stage.prints(&["ln", "-s", "main.c", "src/link"]).await;
    stage
}

async fn is_there(stage: &Stage, path: &str) -> bool {
    stage.view("root").stat(&VPath::absolute(path).unwrap(), Follow::No).await.is_ok()
}

async fn bytes(stage: &Stage, path: &str) -> Vec<u8> {
    stage.view("root").read(&VPath::absolute(path).unwrap()).await.unwrap()
}

#[tokio::test]
async fn gzip_replaces_a_file_and_gunzip_brings_it_back() {
    let mut stage = with_files().await;
    stage.prints(&["gzip", "n"]).await;
    assert!(!is_there(&stage, "/home/alice/n").await);
    let stat = stage.stat("/home/alice/n.gz").await;
    assert_eq!((stat.mode, stat.modified_ms), (0o640, NOW_MS - 60_000));
    assert_eq!(stage.prints(&["zcat", "n.gz"]).await, "some text\n");
    assert_eq!(stage.prints(&["gzip", "-t", "n.gz"]).await, "");
    let listed = stage.prints(&["gzip", "-l", "n.gz"]).await;
    assert!(
        listed.lines().nth(1).is_some_and(|line| line.contains(" 10 ") && line.ends_with(" n")),
        "{listed}"
    );
    stage.prints(&["gunzip", "-k", "n"]).await;
    assert_eq!(stage.text("/home/alice/n").await, "some text\n");
    let (code, why) = stage.fails(&["gunzip", "n.gz"]).await;
    assert_eq!((code, why.as_str()), (2, "gunzip: n already exists;\tnot overwritten\n"));
    assert_eq!(stage.prints(&["gzip", "-df", "n.gz"]).await, "");
    stage.stdin = stage.run("alice", &["gzip", "-9c", "n"]).await.stdout;
    assert_eq!(stage.prints(&["gunzip"]).await, "some text\n");
    // Two after each other are one.
    stage.stdin = [stage.stdin.clone(), stage.stdin.clone()].concat();
    assert_eq!(stage.prints(&["zcat"]).await, "some text\nsome text\n");
}

#[tokio::test]
async fn gzip_says_what_it_cannot_do_and_leaves_it() {
    let stage = with_files().await;
    assert_eq!(stage.fails(&["gzip", "no"]).await, (1, "gzip: no: No such file or directory\n".into()));
    assert_eq!(stage.fails(&["gzip", "src"]).await, (2, "gzip: src is a directory -- ignored\n".into()));
    assert_eq!(stage.fails(&["gunzip", "n"]).await, (2, "gunzip: n: unknown suffix -- ignored\n".into()));
    stage.write("alice", "~/bad.gz", "this is not it at all\n", 0o644).await;
    assert_eq!(stage.fails(&["gunzip", "bad.gz"]).await, (1, "gunzip: bad.gz: not in gzip format\n".into()));
    assert!(is_there(&stage, "/home/alice/bad.gz").await && !is_there(&stage, "/home/alice/bad").await);
    stage.prints(&["gzip", "n"]).await;
    let view = stage.view("alice");
    let path = VPath::absolute("/home/alice/n.gz").unwrap();
    let cut = |whole: Vec<u8>| Ok::<_, ()>((whole[..whole.len() - 4].to_vec(), ()));
    view.edit(&path, cut).await.unwrap().unwrap();
    assert_eq!(
        stage.fails(&["gzip", "-t", "n.gz"]).await,
        (1, "gzip: n.gz: unexpected end of file\n".into())
    );
    assert_eq!(stage.fails(&["gunzip", "n.gz"]).await.0, 1);
    assert!(!is_there(&stage, "/home/alice/n").await);
}

#[tokio::test]
async fn tar_keeps_modes_times_and_links() {
    let stage = with_files().await;
    for (create, archive) in [("-cf", "a.tar"), ("czf", "a.tgz")] {
        stage.prints(&["tar", create, archive, "src", "n"]).await;
        let names = "src/\nsrc/link\nsrc/main.c\nsrc/run.sh\nsrc/util.h\nn\n";
        assert_eq!(stage.prints(&["tar", "tf", archive]).await, names);
        stage.prints(&["mkdir", "-p", "x"]).await;
        stage.prints(&["tar", "xf", archive, "-C", "x"]).await;
        let stat = stage.stat("/home/alice/x/src/run.sh").await;
        assert_eq!((stat.mode, stat.modified_ms), (0o755, NOW_MS - 60_000));
        assert_eq!(stage.text("/home/alice/x/src/main.c").await, "int main;\n");
        assert_eq!(stage.prints(&["readlink", "x/src/link"]).await, "main.c\n");
        assert_eq!(stage.stat("/home/alice/x/n").await.mode, 0o640);
        stage.prints(&["rm", "-r", "x"]).await;
    }
    assert_eq!(bytes(&stage, "/home/alice/a.tgz").await[..2], [0x1f, 0x8b]);
    assert_eq!(bytes(&stage, "/home/alice/a.tar").await.len() % 10_240, 0);
}

#[tokio::test]
async fn tar_lists_chooses_and_leaves_out() {
    let stage = with_files().await;
    assert_eq!(stage.prints(&["tar", "-cvf", "a.tar", "n", "src/util.h"]).await, "n\nsrc/util.h\n");
    let listed = stage.prints(&["tar", "tvf", "a.tar", "n"]).await;
    assert_eq!(listed, "-rw-r----- alice/alice      10 2026-11-15 11:59 n\n");
    assert_eq!(stage.prints(&["tar", "-xOf", "a.tar", "n"]).await, "some text\n");
    stage.prints(&["tar", "--exclude=*.h", "--exclude", "link", "-cf", "b.tar", "src"]).await;
    assert_eq!(stage.prints(&["tar", "tf", "b.tar"]).await, "src/\nsrc/main.c\nsrc/run.sh\n");
    stage.prints(&["mkdir", "y"]).await;
    stage.prints(&["tar", "xf", "b.tar", "-C", "y", "--strip-components=1"]).await;
    assert_eq!(stage.prints(&["ls", "y"]).await, "main.c\nrun.sh\n");
    stage.prints(&["tar", "-cf", "c.tar", "-C", "src", "main.c", "-C", "..", "n"]).await;
    assert_eq!(stage.prints(&["tar", "tf", "c.tar"]).await, "main.c\nn\n");
    stage.prints(&["tar", "rf", "c.tar", "src/util.h"]).await;
    stage.prints(&["tar", "uf", "c.tar", "n"]).await;
    assert_eq!(stage.prints(&["tar", "tf", "c.tar"]).await, "main.c\nn\nsrc/util.h\n");
    let (code, why) = stage.fails(&["tar", "tf", "c.tar", "no"]).await;
    assert_eq!((code, why.lines().next()), (2, Some("tar: no: Not found in archive")));
}

#[tokio::test]
async fn tar_says_what_it_cannot_do() {
    let stage = with_files().await;
    let (code, why) = stage.fails(&["tar", "xf", "no.tar"]).await;
    assert_eq!(code, 2);
    assert!(why.starts_with("tar: no.tar: Cannot open: No such file or directory\n"), "{why}");
    assert!(stage.fails(&["tar", "cf", "a.tar"]).await.1.contains("Cowardly refusing"));
    let (code, why) = stage.fails(&["tar", "cf", "a.tar", "no", "n"]).await;
    assert_eq!(code, 2);
    assert!(why.starts_with("tar: no: Cannot stat: No such file or directory\n"), "{why}");
    assert_eq!(stage.prints(&["tar", "tf", "a.tar"]).await, "n\n");
    assert!(stage.fails(&["tar", "xf", "n"]).await.1.contains("does not look like a tar archive"));
    assert!(stage.fails(&["tar", "cjf", "a.tar", "n"]).await.1.contains("only --gzip"));
    let done = stage.run("alice", &["tar", "cf", "src/self.tar", "src"]).await;
    assert_eq!(
        (done.code, text(&done.stderr)),
        (0, "tar: src/self.tar: file is the archive; not dumped\n".into())
    );
    let done = stage.run("bob", &["tar", "cf", "-", "/home/alice/n"]).await;
    assert_eq!(done.code, 2);
}

/// An archive with members of any name.
fn archive(members: &[(&str, tar::EntryType, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, kind, content) in members {
        let mut header = tar::Header::new_gnu();
        let is_file = kind.is_file();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        if !is_file {
            header.as_old_mut().linkname[..content.len()].copy_from_slice(content.as_bytes());
        }
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_size(if is_file { content.len() as u64 } else { 0 });
        header.set_cksum();
        bytes.extend_from_slice(header.as_bytes());
        if is_file {
            bytes.extend_from_slice(content.as_bytes());
            bytes.resize(bytes.len().next_multiple_of(512), 0);
        }
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

#[tokio::test]
async fn nothing_is_put_outside_the_directory() {
    use tar::EntryType::{Link, Regular, Symlink};
    let mut stage = with_files().await;
    stage.prints(&["mkdir", "x"]).await;
    stage.stdin = archive(&[
        ("/home/alice/n", Regular, "absolute"),
        ("../n", Regular, "up"),
        ("a/../../n", Regular, "up again"),
        ("out", Symlink, "/home/alice"),
        ("out/n", Regular, "through a link"),
        ("up", Symlink, ".."),
        ("up/n", Regular, "through another"),
        ("file", Symlink, "../n"),
        ("file", Regular, "in place of a link"),
        ("hard", Link, "../n"),
        ("hard2", Link, "out/n"),
        ("in", Symlink, "below"),
        ("below/one", Regular, "1"),
        ("in/two", Regular, "2"),
        ("same", Link, "below/one"),
    ]);
    let done = stage.run("alice", &["tar", "xf", "-", "-C", "x"]).await;
    assert_eq!(done.code, 2);
    assert_eq!(stage.text("/home/alice/n").await, "some text\n");
    assert_eq!(stage.text("/home/alice/x/home/alice/n").await, "absolute");
    assert_eq!(stage.text("/home/alice/x/file").await, "in place of a link");
    assert_eq!(stage.text("/home/alice/x/below/two").await, "2");
    assert_eq!(stage.text("/home/alice/x/same").await, "1");
    for name in ["hard", "hard2"] {
        assert!(!is_there(&stage, &format!("/home/alice/x/{name}")).await, "{name}");
    }
    let said = text(&done.stderr);
    for line in ["../n: Member name contains '..'", "out/n: Cannot open", "up/n: Cannot open"] {
        assert!(said.contains(line), "{line}: {said}");
    }
}

#[tokio::test]
async fn what_is_expanded_to_be_printed_has_a_limit() {
    let mut stage = Stage::new().await;
    stage.stdin = vec![0; 20 * 1024 * 1024];
    let small = stage.run("alice", &["gzip", "-1"]).await.stdout;
    let path = VPath::absolute("/home/alice/zeros.gz").unwrap();
    stage.view("alice").write(&path, small, vfs::view::Writing::default()).await.unwrap();
    let done = stage.run("alice", &[&["zcat"][..], &["zeros.gz"; 1_000]].concat()).await;
    assert_eq!((done.code, done.stdout.len()), (1, base::limits::native_shell::STREAM_MAX_BYTES));
    assert_eq!(text(&done.stderr), "more than 64 MiB of output\n");
    let (code, why) = stage.fails(&["xxd", "-c1"]).await;
    assert_eq!((code, why.as_str()), (3, "xxd: File too large\n"));
}
