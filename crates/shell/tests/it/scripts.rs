//! Tests of scripts over the tree, and of what they may not do.

use protocol::shell::Status;

use crate::test_shell::{ANN, BOB, ROOT, TestShell, seen};

/// Scripts, what they print, and their exit codes.
const SCRIPTS: &[(&str, &str, i32)] = &[
    (
        "echo $HOME $USER $LOGNAME $UID $SHELL $PATH",
        "/home/ann ann ann 1000 /bin/bash /usr/local/bin:/usr/bin:/bin\n",
        0,
    ),
    (
        "echo $PWD $TERM $LANG [$GSV_PID] $HOSTNAME $GSV_VERSION $TZ",
        "/home/ann xterm-256color en_US.UTF-8 [] gsv test UTC\n",
        0,
    ),
    ("echo hi > f && cat f | tr a-z A-Z >> f; cat f; wc -l < f", "hi\nHI\n2\n", 0),
    (
        "mkdir -p a/b; cd a/b; pwd; cd ..; pwd; cd - > /dev/null; pwd",
        "/home/ann/a/b\n/home/ann/a\n/home/ann/a/b\n",
        0,
    ),
    ("touch x1 x2 y1; echo x*; echo {a,b}{1,2}; rm x*; echo *1", "x1 x2\na1 a2 b1 b2\ny1\n", 0),
    ("a=(one 'two three'); a+=(4); echo ${#a[@]} \"${a[1]}\" ${a[-1]}", "3 two three 4\n", 0),
    ("declare -A m=([k]=v); m[z]=1; echo ${m[k]} ${#m[@]}", "v 2\n", 0),
    ("f() { local n=$1; ((n < 2)) && echo 1 || echo $((n * $(f $((n - 1))))); }; f 5", "120\n", 0),
    ("cat <<'E'\n$HOME\nE\ncat <<E\n$HOME\nE", "$HOME\n/home/ann\n", 0),
    ("set -e; false; echo no", "", 1),
    ("set -u; echo $nothing; echo no", "", 127),
    ("echo ${nothing?}; echo no", "", 127),
    ("x=; echo ${x?}ok; echo ${x:?is empty: fill it}; echo no", "ok\n", 127),
    ("f() { echo \"${1:?}\"; }; f a; f; echo no", "a\n", 127),
    ("(echo ${nothing?}); echo $?; cd nowhere", "1\n", 1),
    ("set -o pipefail; false | true; echo $?", "1\n", 0),
    ("trap 'echo bye' EXIT; echo hi; exit 7", "hi\nbye\n", 7),
    ("(sleep 0.05; echo slow) & echo fast; wait; echo done", "fast\nslow\ndone\n", 0),
    ("x=5; (x=6; echo $x); echo $x", "6\n5\n", 0),
    (
        "case abc in a*) echo yes;; *) echo no;; esac; [[ abc =~ ^a(.)c$ ]] && echo ${BASH_REMATCH[1]}",
        "yes\nb\n",
        0,
    ),
    ("diff <(printf '1\\n2\\n') <(printf '1\\n3\\n')", "2c2\n< 2\n---\n> 3\n", 1),
    ("echo '{\"a\":[1,{\"b\":2}]}' | jq -c '.a[1]'", "{\"b\":2}\n", 0),
    ("printf '%s\\n' b a c | sort | head -2 | paste -sd,", "a,b\n", 0),
    ("yes | tr y n | head -2; yes ab | tr -d a | tr -s b | head -1", "n\nn\nb\n", 0),
    ("expr $(yes length | head -n 3000) x; [ $(yes 'x -a' | head -n 3000) x ]; echo $?", "2\n", 0),
    ("seq 5 | awk '{ s += $1 } END { print s }'; echo abc | sed 's/b/X/'", "15\naXc\n", 0),
    ("printf 'k v\\nk2 v2\\n' > t; while read -r k v; do echo $v$k; done < t", "vk\nv2k2\n", 0),
    (
        "echo one > a; ln -s a l; cat l; readlink l; [ -L l ] && rm l; [ -e a ] && echo kept",
        "one\na\nkept\n",
        0,
    ),
    ("ln -s /home/ann d; cd d; pwd; cd -P .; pwd", "/home/ann/d\n/home/ann\n", 0),
    ("ln -s nowhere l; [ -e l ] || echo dangling; [ -L l ] && echo link; cat l", "dangling\nlink\n", 1),
    (
        "echo 'echo from $0 $1' > s.sh; chmod +x s.sh; ./s.sh a; bash s.sh b; . ./s.sh; echo",
        "from ./s.sh a\nfrom s.sh b\nfrom bash\n\n",
        0,
    ),
    ("/bin/echo by path; /usr/bin/env true && command -v ls", "by path\n/usr/bin/ls\n", 0),
    ("eval 'echo $((6*7))'; echo ${HOME##*/} ${USER^^} ${nope:-def}", "42\nann ANN def\n", 0),
    ("timeout 0.05 sleep 5; echo $?", "124\n", 0),
    ("echo a b c | xargs -n1 echo -", "- a\n- b\n- c\n", 0),
    ("printf 'x' | tee y; cat y | base64", "xeA==\n", 0),
    (
        "printf '\\377\\376z' > bin; cat bin | wc -c; cp bin bin2; cmp bin bin2 && sha256sum < bin2 | cut -c1-8",
        "3\n9ee4beb5\n",
        0,
    ),
    (
        "tar cf t.tar --files-from /dev/null 2>/dev/null; echo x > f; tar cf t.tar f; rm f; tar xf t.tar; cat f",
        "x\n",
        0,
    ),
    ("echo x > f; gzip f; ls; gunzip f.gz; cat f", "f.gz\nx\n", 0),
    ("export V=1; env | grep ^V=; unset V; env | grep -c ^V=", "V=1\n0\n", 1),
];

#[tokio::test(flavor = "multi_thread")]
async fn bash_does_what_bash_does() {
    for (script, stdout, code) in SCRIPTS {
        let test_shell = TestShell::new().await;
        let result = test_shell.run(script).await;
        assert_eq!((seen(&result).0, result.exit_code), (*stdout, Some(*code)), "{script}\n{result:?}");
        let status = if *code == 0 { Status::Completed } else { Status::Failed };
        assert_eq!(result.status, status, "{script}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_says_where_the_shell_was_at_its_end() {
    let test_shell = TestShell::new().await;
    let result = test_shell.run("mkdir deep && cd deep && echo there").await;
    assert_eq!((result.output.as_str(), result.cwd.as_deref()), ("there\n", Some("/home/ann/deep")));
    assert_eq!((result.session_id, result.pid), (None, None));
    assert_eq!(test_shell.run("cd /tmp; exit 3").await.cwd.as_deref(), Some("/tmp"));
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_told_apart_and_together() {
    let test_shell = TestShell::new().await;
    let result = test_shell.run("echo out; echo err >&2; echo out2").await;
    assert_eq!(seen(&result), ("out\nout2\n", "err\n", Some(0)));
    assert_eq!(result.output, "out\nerr\nout2\n");
    assert_eq!(result.truncated, Some(false));
}

#[tokio::test(flavor = "multi_thread")]
async fn output_that_is_not_text_is_shown_as_well_as_it_can_be() {
    let test_shell = TestShell::new().await;
    let result = test_shell.run("printf 'a\\377b\\n'").await;
    assert_eq!(result.output, "a\u{FFFD}b\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_command_and_a_broken_script_are_said_in_bashs_words() {
    let test_shell = TestShell::new().await;
    let result = test_shell.run("true\nsl -l; echo $?").await;
    assert_eq!(result.stdout.as_deref(), Some("127\n"));
    let stderr = result.stderr.unwrap();
    assert!(stderr.starts_with("bash: ") && stderr.ends_with("sl: command not found\n"), "{stderr}");

    let result = test_shell.run("echo ok\nif then").await;
    assert_eq!((result.stdout.as_deref(), result.exit_code), (Some("ok\n"), Some(2)));
    let stderr = result.stderr.unwrap();
    assert!(stderr.starts_with("bash: line 2: syntax error"), "{stderr}");

    let result = test_shell.run("echo (").await;
    assert_eq!(result.exit_code, Some(2));
    assert!(result.stderr.unwrap().contains("syntax error"), "a script that cannot be read at all");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_users_files_are_refused_in_every_way() {
    let test_shell = TestShell::new().await;
    test_shell
        .run_as(
            BOB,
            "echo secret > ~/s; chmod 600 ~/s; mkdir ~/open; echo pub > ~/open/p; chmod 755 ~ ~/open",
        )
        .await;
    for script in [
        "cat /home/bob/s",
        "cat < /home/bob/s",
        "echo x > /home/bob/s",
        "echo x >> /home/bob/s",
        "rm /home/bob/s",
        "mv /home/bob/s /tmp/s",
        "cp /home/bob/s /tmp/s",
        "grep s /home/bob/s",
        "touch /home/bob/new",
        "mkdir /home/bob/new",
        "ln -s /tmp /home/bob/new",
        "chmod 644 /home/bob/s",
        "ln -s /home/bob/s l; cat l",
        ". /home/bob/s",
        "/home/bob/s",
        "sed -i s/a/b/ /home/bob/s",
        "tar cf /tmp/t.tar /home/bob/s && tar xOf /tmp/t.tar",
        "cat /etc/shadow",
        "cd /root",
    ] {
        let result = test_shell.run(script).await;
        assert_ne!(result.exit_code, Some(0), "{script}\n{result:?}");
        assert!(!result.output.contains("secret"), "{script}\n{result:?}");
        let stderr = result.stderr.unwrap();
        // The interpreter says of a file it cannot source, or archive, only that it is not there.
        let words = ["ermission denied", "not permitted", "No such file or directory"];
        let known = if script.starts_with(['.', 't']) { &words[..] } else { &words[..2] };
        assert!(known.iter().any(|words| stderr.contains(words)), "{script}: {stderr}");
    }
    assert_eq!(test_shell.run("cat /home/bob/open/p").await.output, "pub\n");
    assert_eq!(test_shell.run_as(BOB, "cat ~/s").await.output, "secret\n");
    assert_eq!(test_shell.run_as(ROOT, "cat /home/bob/s").await.output, "secret\n");
    let owned = test_shell.run("echo mine > /tmp/mine; stat -c '%U %a' /tmp/mine").await;
    assert_eq!(owned.stdout.as_deref().map(str::trim_end).unwrap().split(' ').next_back(), Some("644"));
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_about_files_are_true_for_the_caller() {
    let test_shell = TestShell::new().await;
    test_shell.run_as(BOB, "echo x > ~/s; chmod 600 ~/s; chmod 755 ~").await;
    let script = "f=/home/bob/s; for t in e f r w x; do [ -$t $f ] && echo $t; done; \
                  echo > own; for t in r w x O; do [ -$t own ] && echo own-$t; done; chmod +x own; test -x own && echo run";
    let result = test_shell.run_as(ANN, script).await;
    assert_eq!(result.output, "e\nf\nown-r\nown-w\nown-O\nrun\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_too_large_to_be_read_at_once_is_refused_clearly() {
    let test_shell = TestShell::new().await;
    let script = "for i in 1 2 3 4 5; do head -c 16000000 /dev/zero >> big; done; wc -c big";
    let result = test_shell.run(script).await;
    assert_ne!(result.exit_code, Some(0), "{result:?}");
    let stderr = result.stderr.unwrap();
    assert!(stderr.contains("larger than 64 MiB"), "{stderr}");
}

/// Scripts that make files with a mask of their own, and the modes that these have.
const MASKED: &[(&str, &str)] = &[
    ("umask 077; echo x > f; echo x >> g; : > h; printf x > i; stat -c %a f g h i", "600\n600\n600\n600\n"),
    (
        "umask 077; cp /etc/hostname f 2>/dev/null || echo x > f; cp f g; mkdir d; touch t; echo x | tee e > /dev/null; stat -c %a g d t e",
        "600\n700\n600\n600\n",
    ),
    ("umask 000; echo x > f; mkdir d; seq 3 > s; stat -c %a f d s", "666\n777\n666\n"),
    ("umask u=rwx,g=,o=; sed p <<< x > f; cat f > g; stat -c %a f g; umask", "600\n600\n0077\n"),
    ("(umask 077; echo x > f); echo x > g; stat -c %a f g", "600\n644\n"),
    ("umask 077; (umask 022; echo x > f); echo x > g; stat -c %a f g", "644\n600\n"),
    ("echo x > f; umask 077; echo y > f; stat -c %a f", "644\n"),
    ("umask 077; base64 <<< x > f; jq -n 1 > g; sort <<< x > h; stat -c %a f g h", "600\n600\n600\n"),
    (
        "umask 077; mkdir -p a/b; stat -c %a a a/b; awk 'BEGIN { print 1 > \"o\" }'; stat -c %a o",
        "700\n700\n600\n",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn new_files_get_what_the_umask_leaves() {
    for (script, modes) in MASKED {
        let test_shell = TestShell::new().await;
        let result = test_shell.run(script).await;
        assert_eq!(result.stdout.as_deref(), Some(*modes), "{script}\n{result:?}");
    }
}

/// Scripts that read endless devices, what they print, whether they succeed, and a word of the complaint.
const ENDLESS: &[(&str, &str, bool, &str)] = &[
    ("head -c 20000000 /dev/zero | wc -c", "20000000\n", true, ""),
    ("head -c 20000000 < /dev/zero | wc -c", "20000000\n", true, ""),
    ("head -c 2000000 /dev/urandom | wc -c", "2000000\n", true, ""),
    ("dd if=/dev/zero of=f bs=1M count=20 2>/dev/null; wc -c < f", "20971520\n", true, ""),
    ("tr -dc a-z < /dev/urandom | head -c 20 | wc -c", "20\n", true, ""),
    ("cat /dev/zero > /dev/null", "", false, "/dev/zero...: "),
    ("wc -c /dev/zero", "", false, "never ends"),
    ("head -c 100M /dev/zero > f", "", false, "more than 64 MiB"),
    ("sort /dev/urandom", "", false, "never ends"),
    ("wc -c < /dev/zero", "", false, "wc: /dev/zero: it never ends"),
    ("head -c 5 /dev/zero | wc -c; wc -c < /dev/zero", "", false, "wc: /dev/zero: it never ends"),
    ("cat < /dev/urandom > f", "", false, "never ends"),
    ("x=$(< /dev/zero); echo ${#x}", "0\n", true, "/dev/zero: it never ends"),
    ("while read -r x; do echo $x; done < /dev/zero", "", true, "read: /dev/zero: it never ends"),
    ("mapfile -t a < /dev/urandom", "", false, "mapfile: /dev/urandom: it never ends"),
    ("awk '{ print }' < /dev/zero", "", false, "awk: /dev/zero: it never ends"),
    ("d=/dev; sed p < $d/zero", "", false, "/dev/zero: it never ends"),
    ("tr -d x < /dev/zero > /dev/null", "", false, "tr: /dev/zero: it never ends"),
    ("base64 < /dev/urandom > /dev/null", "", false, "base64: /dev/urandom: it never ends"),
    ("read -r -n 4 x < /dev/urandom; xxd -l 2 -p < /dev/zero", "0000\n", true, ""),
    (
        "od -An -tx1 -N 2 < /dev/zero; dd bs=1M count=20 < /dev/zero 2>/dev/null | wc -c",
        " 00 00\n20971520\n",
        true,
        "",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn endless_devices_give_what_is_asked_for_or_say_that_they_do_not() {
    let test_shell = TestShell::new().await;
    for (script, stdout, succeeds, words) in ENDLESS {
        let result = test_shell.run(script).await;
        let stderr = result.stderr.clone().unwrap_or_default();
        assert_eq!(result.exit_code == Some(0), *succeeds, "{script}\n{result:?}");
        assert!(stderr.contains(words), "{script}\n{result:?}");
        if *succeeds {
            assert_eq!(result.stdout.as_deref(), Some(*stdout), "{script}\n{result:?}");
        }
    }
}
