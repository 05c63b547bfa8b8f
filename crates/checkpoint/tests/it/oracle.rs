//! The git program reads our store: what it finds there is what was in the workspace.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;

use checkpoint::When;

use crate::kit::{Kit, git, has_git};

/// Git's own check of every object in the store.
pub fn fsck(kit: &Kit) {
    let output = shadow(kit, &["fsck", "--full", "--strict", "--no-dangling"]);
    assert!(output.is_empty(), "{output}");
    shadow(
        kit,
        &["verify-pack", "-v", "--object-format=sha256"]
            .map(String::from)
            .into_iter()
            .chain(
                std::fs::read_dir(kit.at.repository().join("objects/pack"))
                    .expect("packs")
                    .map(|entry| entry.expect("an entry").path())
                    .filter(|path| path.extension().is_some_and(|extension| extension == "idx"))
                    .map(|path| path.display().to_string()),
            )
            .collect::<Vec<_>>()
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>(),
    );
}

fn shadow(kit: &Kit, arguments: &[&str]) -> String {
    let dir = format!("--git-dir={}", kit.at.repository().display());
    let all: Vec<&str> = [dir.as_str()].into_iter().chain(arguments.iter().copied()).collect();
    let output = git(kit.dir.path(), &all);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn git_finds_every_object_sound() {
    if !has_git() {
        return;
    }
    let kit = Kit::new();
    kit.git(".", &["init", "-q"]);
    kit.write("a", "one");
    kit.write("a.b/c", "two");
    kit.write("a-b", "sorted between");
    kit.write("empty", "");
    kit.write("large", (0..300_000u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>());
    kit.write(".gitmodules", "[submodule \"../evil\"]\n\tpath = -x\n\turl = -y\n");
    kit.write("sub/.git/config", "x");
    std::fs::create_dir(kit.path("nothing")).expect("a directory");
    symlink("a", kit.path("link")).expect("a link");
    kit.take(When::Before);
    kit.write("a", "changed");
    kit.take(When::After);
    fsck(&kit);
}

#[test]
fn git_lists_the_same_files_with_the_same_content() {
    if !has_git() {
        return;
    }
    let kit = Kit::new();
    for at in 0..200 {
        kit.write(format!("d{}/e{}/f{at}", at % 3, at % 11), format!("content of {at}\r\n"));
    }
    kit.chmod("d0/e0/f0", 0o755);
    let taken = kit.take(When::Before);
    let listed =
        shadow(&kit, &["ls-tree", "-r", "--full-tree", &format!("refs/checkpoints/{}:files", taken.id)]);
    assert_eq!(listed.lines().count(), 200);
    assert_eq!(listed.lines().filter(|line| line.starts_with("100755")).count(), 1);
    for at in [0, 57, 199] {
        let name = format!("refs/checkpoints/{}:files/d{}/e{}/f{at}", taken.id, at % 3, at % 11);
        assert_eq!(shadow(&kit, &["show", &name]), format!("content of {at}\r\n"));
    }
}

/// What git would add, without its treatment of nested repositories, is what a checkpoint holds.
#[test]
fn git_ignores_the_same_files() {
    if !has_git() {
        return;
    }
    let kit = Kit::new();
    kit.git(".", &["init", "-q"]);
    kit.write(
        ".gitignore",
        "# comment\n*.o\n!keep.o\n/rooted\nbuild/\ndoc/*.txt\n**/any/deep\nsp\\ ace\ntrail   \n[ab]x\n\\#hash\n\\!bang\na/**/z\n",
    );
    kit.write("sub/.gitignore", "!sub.o\nlocal\r\n/only-here\n");
    kit.write(".git/info/exclude", "excluded\n*.swp\n");
    let names = [
        "x.o",
        "keep.o",
        "rooted",
        "sub/rooted",
        "build/x",
        "sub/build/y",
        "build.txt",
        "doc/a.txt",
        "doc/b/c.txt",
        "p/any/deep",
        "any/deep/er",
        "sp ace",
        "trail",
        "ax",
        "cx",
        "#hash",
        "!bang",
        "a/z",
        "a/b/c/z",
        "sub/sub.o",
        "sub/other.o",
        "sub/local",
        "local",
        "sub/only-here",
        "sub/deep/only-here",
        "excluded",
        "sub/excluded",
        "f.swp",
        "forced.o",
        "sub/build/forced",
    ];
    for name in names {
        kit.write(name, name);
    }
    kit.git(".", &["add", "-f", "forced.o", "sub/build/forced"]);
    let git_says = kit.git(".", &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let git_says: BTreeMap<&str, ()> = git_says.split_terminator('\0').map(|name| (name, ())).collect();
    let taken = kit.take(When::Before);
    for name in names {
        let kept = kit.at.content(taken.id, name.as_ref(), 100).expect("read").is_some();
        assert_eq!(kept, git_says.contains_key(name), "{name}");
    }
}
