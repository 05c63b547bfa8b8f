//! The table of reading programs, row by row, and what must never be in it.

mod fuzz;

use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, Uid};

use super::*;
use crate::target::Target;

fn context(target: &Target) -> PathContext {
    let who = ProcessIdentity {
        uid: Uid(1),
        gid: Gid(1),
        gids: Vec::new(),
        username: "x".into(),
        home: "/x".into(),
        cwd: "/x".into(),
        workspace_id: None,
    };
    PathContext::new(false, &who, target, None)
}

fn proof(script: &str) -> Result<(), String> {
    let target =
        Target { home: Some("/home/a".into()), workspace: Some("/home/a/work".into()), ..Target::default() };
    prove(script, Ground { paths: &context(&target), shell: Some("bash"), has_quiet_git: true })
}

fn all_proved(scripts: &[&str]) {
    let wrong: Vec<String> = scripts
        .iter()
        .filter_map(|script| proof(script).err().map(|why| format!("{script}: {why}")))
        .collect();
    assert!(wrong.is_empty(), "not proved:\n{}", wrong.join("\n"));
}

fn none_proved(scripts: &[&str]) {
    let wrong: Vec<&&str> = scripts.iter().filter(|script| proof(script).is_ok()).collect();
    assert!(wrong.is_empty(), "proved: {wrong:#?}");
}

#[test]
#[rustfmt::skip]
fn reading_programs_are_proved_with_their_options() {
    all_proved(&[
        "", "ls", "ls -la --color=auto src", "ls --sort=size", "ls ~", "ls ~/work", "ls ./*.rs", "ls src/*", "tree -L 2 -I target", "cat -n a b",
        "tac x", "rev x", "head -20 x", "head -n 20 x", "head -n20 -q a b", "tail -n +5 x", "tail -f x", "tail --lines=3 x", "nl -ba x", "wc -l src/*.rs",
        "sort -k2,2 -t : -nr x", "sort -u", "uniq -c", "uniq -c x", "cut -d , -f 1,2 x", "cut -d: -f1", "paste -s -d , x", "comm -12 a b", "join a b",
        "column -t -s ,", "fold -w 80 x", "expand x", "tr -d 'a-z'", "tr a b", "od -c x", "hexdump -C x", "xxd -l 16 x", "base64 -d x", "sha256sum a b",
        "md5sum x", "cksum x", "shasum -a 256 x", "grep -n foo x", "grep -inE 'a|b' src/main.rs", "grep -A3 -B 2 foo x", "grep -e '-x' y", "egrep foo x",
        "grep -rn foo --include='*.rs' src", "grep -c '' x", "rg foo", "rg -n 'fn main' src", "rg -t rust foo", "rg -g '*.rs' foo", "rg -g '!target' foo",
        "rg --files src", "rg -l foo -C 2", "diff -u a.txt b.txt", "cmp a b", "stat -c '%s' x", "stat x", "file x", "file -b --mime-type x", "du -sh src",
        "du -d 1", "df -h", "df -h .", "realpath x", "readlink -f x", "basename a/b .c", "dirname a/b", "echo hello 'a b'", "echo -n x", "which cargo",
        "type ls", "pwd", "id -un", "whoami", "uname -a", "hostname", "hostname -s", "nproc", "uptime", "free -h", "true", "false", "groups",
    ]);
    all_proved(&[
        "find . -name '*.rs' -type f", "find src tests -maxdepth 2 -not -path './x/*'", "find . '(' -name a -o -name b ')' -print0", "find", "find . -printf '%p'",
        "find . -newer x -size +1k", "sed -n '10,20p' x", "sed -n 5p x", "sed -n '1,5p;10p' x", "sed -n '/foo/,/bar/p' x", "sed -n '$p' x", "sed -n '/fn main/,+5p' x",
        "jq . x.json", "jq -r '.a[] | .b' x.json", "jq --arg a b '.[$a]' x", "printf '%s\\n' a b", "printf 'x\\n'", "test -f x", "[ -d src ]", "[ a = b ]", "[ 1 -lt 2 ]",
        "date", "date -u +%Y-%m-%d", "date '+%H %M'", "ps aux", "ps -ef", "ps -eo pid,comm --sort=-%cpu", "command -v cargo", "seq 1 10", "sleep 1",
        "git status", "git status -sb", "git log --oneline -5", "git log -p -n 3 -- src", "git diff", "git diff HEAD~1 --stat", "git show HEAD:src/x", "git blame -L 1,5 x",
        "git branch", "git branch -a", "git branch --list 'x*'", "git tag -l", "git remote -v", "git stash list", "git worktree list", "git rev-parse --abbrev-ref HEAD",
        "git ls-files", "git grep -n foo", "git --no-pager log -1", "git -C src log", "git reflog", "git describe --tags", "git cat-file -p HEAD", "git --version",
    ]);
    all_proved(&[
        "cat x | grep foo | sort | uniq -c | sort -rn | head -5", "ls && pwd || true", "ls; pwd", "ls\npwd\n", "cd src && ls && cat x", "cd src && cd sub && ls | wc -l",
        "ls 2>/dev/null", "grep foo x 2>&1 | head", "ls nothere 2>/dev/null || echo none", "cat /etc/hosts /usr/include/x.h", "cat ../other/x", "ls -la /etc",
    ]);
}

#[test]
#[rustfmt::skip]
fn everything_else_is_not() {
    // Programs that write, run or are not known.
    none_proved(&[
        "rm x", "make", "cargo test", "awk '{print}' x", "xargs ls", "env", "printenv", "set", "export -p", "sh -c ls", "bash x", "eval ls", "source x", ". x", "tee x",
        "less x", "more x", "man ls", "vi x", "sudo ls", "time ls", "nohup ls", "exec ls", "builtin ls", "command ls", "command -p ls", "noglob ls", "busybox ls",
        "/bin/ls", "./ls", "~/ls", "'ls'", "l*", "Ls", "python3 --version", "cargo --version", "npx x", "if true", "while true", "function x", "coproc ls", "history",
        "trap x EXIT", "alias x=y", "kill 1", "umask 0", "ulimit -n", "cd", "cd -", "cd a b", "cd src; ls", "cd src || ls", "cd src && ls; cat x", "cd src | ls", "cd +1 && ls",
        "cd a/../b && ls", "pushd x", "repeat 3 ls", "A=b ls", "A=b", "ls > x", "ls >> x", "cat < x", "ls &", "ls $HOME", "ls *.rs", "cat *", "cat .*", "cat ./.e*", "cat ./*",
        "cat src/**/*.rs", "ls ~bob", "zcat x", "strings x", "curl x", "wget x", "nc x", "ping x", "dig x",
    ]);
    // Options that write, run, follow or read what is named elsewhere.
    none_proved(&[
        "sort -o x y", "sort -ox y", "sort y -o x", "sort -no x", "sort --output=x y", "sort --outp=x y", "sort --compress-program=x y", "sort -T x y", "sort --files0-from=x",
        "sort --random-source=x y", "sort +1 x", "uniq a b", "uniq -c a b", "xxd a b", "xxd -r a", "tree -o x", "tree -R", "tree -H x", "tree --fromfile x", "wc --files0-from=x",
        "du --files0-from=x", "du -X x", "md5sum -c x", "sha256sum --check x", "file -C", "file -m x y", "file -f x", "file -z x", "file -p x", "diff -l a.x b.x", "diff --to-file=x y.z",
        "diff a b", "diff -r a.x b.x", "grep -r foo .", "grep -R foo", "grep --recursive foo x", "grep -rn foo --include='*' .", "grep -d recurse x .", "egrep -r foo src",
        "rg --pre x y", "rg --pre=x y", "rg --hostname-bin x y", "rg -z x", "rg --search-zip x", "rg --hidden x", "rg -. x", "rg -u x", "rg -uu x", "rg -uuu x", "rg --no-ignore x",
        "rg -L x", "rg --follow x", "rg -g '.env' x", "rg -g '*' x", "rg -g '*.local' x", "rg -t all x", "rg --type-add x", "rg --hyperlink-format x", "rg --ignore-file x y",
        "hostname x", "hostname -F x", "hostname -b x", "date -s x", "date --set=x", "date 01010000", "date -f x", "date --file=x", "date -r x", "date -d x", "ps e", "ps auxe", "ps -E",
        "ps eww", "ps -o environ", "tail --pid=1 x", "realpath x --frobnicate", "base64 -o x", "base64 -i x -o y", "column --output-separator=x", "ls -lZz -T 3 x", "free -s 1",
        "id --context=x", "type -x", "echo *", "seq -f x 1", "seq 1 -s x", "sleep infinity", "sleep -1",
    ]);
    none_proved(&[
        "find . -delete", "find . -exec ls '{}' ';'", "find . -execdir ls '{}' +", "find . -ok ls", "find . -okdir ls", "find . -fprint x", "find . -fprintf x y", "find . -fls x",
        "find . -fprint0 x", "find -files0-from x", "find -L .", "find -D exec .", "find . -name", "find . -newermt x",
        "sed p x", "sed -i s/a/b/ x", "sed -n -i p x", "sed -n 'w x' y", "sed -n '1w x' y", "sed -n 'e ls'", "sed -n '1e ls' x", "sed -n 's/a/b/p' x", "sed -n 's/a/b/e' x", "sed -n 'r x' y",
        "sed -n -f x y", "sed -n p", "sed --expression=p x", "sed -n '1p;e' x", "sed -n '1p' x -i", "sed -n '/a/w/p' x", "sed 's/a/b/w x' y", "sed -ni p x",
        "jq env x", "jq -n '$ENV'", "jq -f x y", "jq --from-file x", "jq -L x .", "jq --slurpfile a b .", "jq --rawfile a b .", "jq 'import \"x\" as $y; .'", "jq 'include \"x\"; .'", "jq",
        "printf -v PATH x", "printf '%n' PATH", "printf '%d' 'a[1]'", "printf '%*s' 1 x", "printf '%(x)T'", "printf '%b' x", "printf", "printf '%'",
        "test -v 'a[1]'", "[ -v x ]", "[ x -eq y ]", "[ 'a[1]' -lt 1 ]", "[ -f x", "test -f x -o -f y", "[ -o x ]", "test -t 1", "[ x ]", "[ -R x ]",
    ]);
    none_proved(&[
        "git", "git push", "git fetch", "git pull", "git commit -m x", "git add .", "git checkout x", "git config -l", "git diff --output=x", "git log --output x", "git diff --ext-diff",
        "git diff --textconv", "git diff --no-index a b", "git log --show-signature", "git log --format='%G?'", "git grep -O foo", "git grep --open-files-in-pager foo", "git grep --no-index x",
        "git grep -f x", "git -c a=b log", "git --exec-path=x log", "git --git-dir=x log", "git --work-tree=x diff", "git --config-env=a=b log", "git branch x", "git branch -d x", "git branch -D x",
        "git branch -m x", "git branch -f x y", "git branch -l x", "git branch --edit-description", "git tag x", "git tag -d x", "git remote add a b", "git remote show origin", "git remote update",
        "git stash", "git stash drop", "git stash pop", "git worktree add x", "git reflog expire --all", "git reflog delete x", "git bisect run x", "git blame --contents x y", "git cat-file --textconv HEAD:x",
        "git cat-file --batch", "git difftool", "git help log", "git show-branch", "git rev-parse --parseopt", "git status --column=x", "git ls-remote", "git archive HEAD", "git diff -O x", "git log -Ox",
        "git p -paginate log", "git -p log", "git --paginate log", "git log --ext-diff", "git var GIT_EDITOR", "git for-each-ref --shell", "git shortlog -w1", "git describe --broken",
    ]);
}

#[test]
#[rustfmt::skip]
fn secrets_are_not_read() {
    none_proved(&[
        "cat ~/.ssh/id_rsa", "cat /home/a/.ssh/id_rsa", "cat ../.ssh/id_rsa", "cat ../../a/.ssh/x", "cat .env", "cat ./.env", "cat src/.env.local", "head -n 1 .env", "grep x .env", "grep -f .env x",
        "grep --file=.env x", "sort -k1 .env", "cat /etc/shadow", "cat /proc/self/environ", "cat /proc/1/environ", "cat /home/b/x", "cat /root/x", "ls ~/.ssh", "cd .. && cat .ssh/id_rsa",
        "cd ~ && cat .aws/credentials", "cd /home/a/.ssh && cat id_rsa", "cd / && cat etc/shadow", "cat '/home/a/.ssh/id'", "cat \"/home/a/.SSH/id\"", "cat x/../../.ssh/id", "cat src/../.env",
        "cat /proc/self/cwd/../.ssh/id", "cat //home//a/.ssh/id", "cat /home/a/./.ssh/id", "rg x ~", "rg x /", "rg x ..", "rg x /etc", "grep -r x --include='*.rs' ~", "cd ~ && rg x",
        "git show HEAD:.env", "git -C .. show x:.ssh/id", "git diff .env", "cat /etc/*.txt", "cat ~/*.txt", "wc -l /home/*.txt", "diff .env x.y", "jq . ~/.docker/config.json", "sed -n 1p .env",
        "base64 ~/.gnupg/x", "xxd /dev/sda", "head -c 100 /dev/mem", "cat ~/.config/gsv/config.toml", "cat ~/.bash_history", "tail ~/.netrc", "stat -c .env x", "find ~/.ssh", "cat id_rsa",
        "cat /home/a/.kube/config", "cat /run/user/1000/x", "head -- .env", "cat -- ~/.pgpass", "file .env", "cat /Users/b/x", "cat ~/.ENV",
    ]);
    all_proved(&["cat .env.example", "cat .gitignore", "cat ~/notes.txt", "ls ~/.config", "cat ~/.bashrc", "cat .git/config", "echo .env", "find . -name .env", "cat '~/.ssh/id'"]);
}

#[test]
fn an_unknown_shell_proves_nothing() {
    let target = Target { workspace: Some("/w".into()), ..Target::default() };
    let paths = context(&target);
    let with = |shell| prove("ls", Ground { paths: &paths, shell, has_quiet_git: true }).is_ok();
    assert!(with(Some("/usr/bin/zsh")) && with(Some("dash")) && with(Some("/bin/sh")));
    for shell in
        [None, Some("fish"), Some("/usr/bin/nu"), Some("pwsh"), Some("cmd.exe"), Some(""), Some("/bin/sh -x")]
    {
        assert!(!with(shell), "{shell:?}");
    }
    let quiet = |has_quiet_git| {
        prove("git status", Ground { paths: &paths, shell: Some("sh"), has_quiet_git }).is_ok()
    };
    assert!(quiet(true) && !quiet(false));
}

/// Options that write, run something, or take names from elsewhere, by program: no row may have them.
#[rustfmt::skip]
const DANGEROUS: &[(&str, &str, &str)] = &[
    ("sort", "oT", "output output= compress-program= temporary-directory= files0-from= random-source= debug"),
    ("rg", "uz.L", "pre= pre-glob= hostname-bin= search-zip hidden unrestricted no-ignore follow hyperlink-format= ignore-file= type-add="),
    ("grep", "O", "devices="),
    ("tree", "oRH", "output= fromfile infofile"),
    ("wc", "", "files0-from="),
    ("du", "X", "files0-from= exclude-from="),
    ("md5sum", "c", "check"),
    ("cksum", "c", "check"),
    ("shasum", "c", "check"),
    ("file", "CmfzZpS", "compile magic-file= files-from= uncompress preserve-date"),
    ("diff", "lXD", "paginate exclude-from= to-file= from-file= ifdef="),
    ("hostname", "Fb", "file= boot"),
    ("base64", "io", "output= input="),
    ("xxd", "ro", "revert"),
    ("cat", "l", ""),
    ("tail", "", "pid= retry"),
    ("df", "", "sync output[="),
    ("uniq", "", "output="),
    ("column", "", "output-separator="),
    ("stat", "w", "cached="),
    ("head", "", "output="),
];

#[test]
fn no_row_has_a_dangerous_option() {
    for (program, short, long) in DANGEROUS {
        let row = table::find(program).expect("a row");
        for letter in short.chars() {
            assert!(!row.short.contains(letter), "{program} -{letter}");
        }
        for name in long.split_whitespace() {
            let plain = |name: &str| name.trim_end_matches(['=', '[']).to_string();
            let has = row.long.split_whitespace().any(|known| plain(known) == plain(name));
            assert!(!has, "{program} --{name}");
        }
    }
    for row in git::COMMANDS {
        for name in [
            "output",
            "ext-diff",
            "textconv",
            "no-index",
            "open-files-in-pager",
            "show-signature",
            "exec",
            "contents",
            "edit",
            "delete",
            "force",
            "shell",
        ] {
            let has = row.long.split_whitespace().any(|known| known.trim_end_matches(['=', '[']) == name);
            assert!(
                !has || (row.names == "check-ignore" && name == "no-index"),
                "git {} --{name}",
                row.names
            );
        }
        assert!(!row.short.contains('O'), "git {} -O", row.names);
    }
    // Whatever prints variables, runs others or keeps a person waiting has no row.
    for program in [
        "env", "printenv", "set", "export", "xargs", "less", "more", "awk", "tee", "dd", "vi", "sh", "ssh",
        "time", "watch", "script", "split", "tar",
    ] {
        assert!(table::find(program).is_none(), "{program}");
    }
}

#[test]
fn each_program_has_one_row_and_its_options_are_well_formed() {
    let names: Vec<&str> = table::ROWS.iter().flat_map(|row| row.names.split(' ')).collect();
    for (at, name) in names.iter().enumerate() {
        assert!(!names[at + 1..].contains(name), "{name}");
    }
    for row in table::ROWS.iter().chain(git::COMMANDS) {
        let letters: Vec<char> = row.short.chars().filter(|letter| *letter != ':').collect();
        for (at, letter) in letters.iter().enumerate() {
            assert!(!letters[at + 1..].contains(letter), "{} -{letter}", row.names);
        }
        assert!(!row.short.starts_with(':') && !row.short.contains("::"), "{}", row.names);
    }
}
