//! Which files a command runs.

use super::*;

fn paths(command: &str) -> Vec<String> {
    script_files(command, None).paths
}

#[test]
fn commands_name_their_scripts() {
    for (command, expected) in [
        ("sh build.sh", &["build.sh"][..]),
        ("bash -x ./build.sh --fast", &["./build.sh"]),
        ("./run", &["./run"]),
        ("/srv/app/run now", &["/srv/app/run"]),
        ("python x.py", &["x.py"]),
        ("python3.12 -u x.py", &["x.py"]),
        (". ./env.sh", &["./env.sh"]),
        ("source env.sh", &["env.sh"]),
        ("make -f x all", &["x"]),
        ("make --file=x", &["x"]),
        ("awk -f p.awk data", &["p.awk"]),
        ("sed -fscript data", &["script"]),
        ("sudo -u bob sh build.sh", &["build.sh"]),
        ("env A=b timeout 5 ./run", &["./run"]),
        ("sh -c 'cd sub && ./run'", &["./run", "sub/run"]),
        ("cd sub; sh x.sh", &["x.sh", "sub/x.sh"]),
        ("sh < in.sh", &["in.sh"]),
        ("cat in.sh | bash", &["in.sh"]),
        ("eval './a; ./b'", &["./a", "./b"]),
        ("ls && ./a || ./b", &["./a", "./b"]),
        ("echo $(./a)", &["./a"]),
        ("find . -name x -exec ./a {} \\;", &["./a"]),
        ("bash <<E\n./a\nE\n", &["./a"]),
        ("node --require=./hook.js main.js", &["./hook.js", "main.js"]),
        ("ls -l", &[]),
        ("rm x", &[]),
        ("make test", &[]),
        ("/usr/bin/ls x", &[]),
        ("python -c 'print(1)' x", &[]),
    ] {
        assert_eq!(paths(command), expected, "{command}");
    }
    assert_eq!(script_files("sh x.sh", Some("/srv")).paths, ["/srv/x.sh"]);
    assert_eq!(script_files("./x; ~/y; /z", Some("sub/")).paths, ["sub/x", "~/y", "/z"]);
}

#[test]
fn what_cannot_be_told_is_said() {
    for command in ["sh $x", "$x", "./*.sh", "cd $x; sh y.sh", ". \"$x\""] {
        assert!(!script_files(command, None).unknown.is_empty(), "{command}");
        assert!(!script_files(command, None).is_empty(), "{command}");
    }
}

#[test]
fn the_search_ends() {
    let many: String = (0..100).map(|number| format!("sh {number}.sh; cd d{number}; ")).collect();
    let found = script_files(&many, None);
    assert_eq!(found.paths.len(), limits::approval::SCRIPT_FILES_MAX);
    assert!(!found.unknown.is_empty());
    script_files(&format!("{}./x", "nohup ".repeat(1_000)), None);
}
