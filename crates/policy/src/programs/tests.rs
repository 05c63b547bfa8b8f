//! Reading scripts, and whether a real bash runs nothing that was not seen.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use super::*;

/// Programs of the scripts below.
const NAMES: &[&str] = &["aa", "bb", "cc", "dd"];

/// Pieces of scripts, good and bad.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "aa", "bb", "cc", "dd", "aa", "bb", "aa ", "bb x", " ", " ", "\n", "; ", ";", " && ", " || ", " | ", " & ", "(", ")", "{ ",
    "; }", "$(", ")", "`", "'", "\"", "\\", "#", " #", "<<E\n", "\nE\n", "<<'E'\n", "<<-E\n", "\t", "<<<", "$((", "))", "((",
    "${x:-", "}", "${x/a/", "${x[", "${x:", "[[ ", " ]]", "if ", "; then ", "; else ", "; fi\n", "case x in x) ", ";; esac\n",
    "for i in ", "; do ", "; done\n", "! ", "$x", "$'", "\\x61", "\\'", "<(", " >(", "x=", "x=(", "a[", "]", "=1 ", "echo ",
    "{aa,bb}", "{ aa; }", "(bb)", "$(cc)", "`dd`", "*", "~", "f() ", "function f ", "f\n", "time ", "coproc ", ">/dev/null ", " 2>&1",
    "let ", "\\\n", "$\"", " -eq ", "@(", "!(", "?(", "+(", "\"$(", ")\"", "${", "$[", "]", "''", "\"\"", "$", "|& ", "&>/dev/null ",
    "esac", "done", "fi", "E", "\nE", "<<\"E\"\n", "<<\\E\n", "\"E\n", "1", "x", "(( ", " ))", ",", "..", "=", "+=", "@P}", "!x}",
    "while false", "until true", "%", "^", "?", "[", "-", "--", "\u{a0}", "\u{2003}", "\r", "\r\n", "\u{b}", "\u{c}", ":", "\\$(", "\\`",
];

/// What bash runs of the programs when it is given the script.
fn run(directory: &Path, script: &str) -> BTreeSet<String> {
    // One of its own for each: what an earlier script left in the background may still write.
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let log = directory.join(format!("log{}", COUNT.fetch_add(1, Ordering::Relaxed)));
    let run = || -> std::io::Result<String> {
        std::fs::write(&log, "")?;
        let mut bash = std::process::Command::new("timeout");
        let mut child = bash
            .args(["-s", "KILL", "5", "bash", "-c", script])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("BASH_ENV", directory.join("programs"))
            .env("GSV_TEST_LOG", &log)
            .current_dir(directory.join("empty"))
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()?;
        let status = child.wait()?;
        assert!(status.code().is_some() || !status.success());
        // `timeout` leads a process group, in which what the script left in the background would go on for ever.
        if let Some(group) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
            rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
        }
        std::fs::read_to_string(&log)
    };
    run().expect("a bash to compare with").lines().map(str::to_string).collect()
}

/// A directory in which bash finds the programs, as functions that write down their names.
fn programs() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let line = |name: &&str| format!("{name}() {{ echo {name} >> \"$GSV_TEST_LOG\"; }}\n");
    let text: String = NAMES.iter().map(line).collect();
    std::fs::write(directory.path().join("programs"), text).expect("a file");
    std::fs::create_dir(directory.path().join("empty")).expect("a directory");
    directory
}

/// Every program that bash runs is among the commands, or the script is not clear.
fn check(directory: &Path, script: &str) -> Result<(), String> {
    let read = read(script);
    let names: Vec<Option<&str>> = read
        .commands
        .iter()
        .filter_map(|simple| simple.words.first())
        .map(|word| word.text.as_deref())
        .collect();
    // Whoever judges these takes them for unclear, too.
    let runs_text =
        |name: &Option<&str>| matches!(name, None | Some("let" | "eval" | "trap" | "alias" | "." | "source"));
    if !read.is_clear || names.iter().any(runs_text) {
        return Ok(());
    }
    let ran = run(directory, script);
    match ran.iter().find(|name| !names.contains(&Some(name.as_str()))) {
        Some(name) => Err(format!("{name} was run and not seen in {script:?}: {names:?}")),
        None => Ok(()),
    }
}

/// Well-formed scripts; `%` stands for another one.
#[rustfmt::skip]
const FORMS: &[&str] = &[
    "%; %", "% && %", "% || %", "% | %", "(%)", "{ %; }", "! { %; }", "if %; then %; fi", "if %; then :; else %; fi",
    "echo $(%)", "echo \"$(%)\"", "echo `%`", "cat <(%)", "x=$(%)", "x=(1 $(%))", "echo ${x:-$(%)}", "echo \"${x:-$(%)}\"",
    "f() { %; }; f", "for i in 1 2; do %; done", "case x in x) %;; esac", "case $(%) in *) %;; esac", "[[ -n $(%) ]]",
    "cat <<E\n$(%)\nE\n%", "cat <<'E'\n$(%)\nE\n%", "cat <<-E\n\t`%`\n\tE\n%", "cat <<< \"$(%)\"", "echo '%'; %",
    "echo \"%\" # %\n%", "echo a#%; %", "echo \\\n%; %", "% 2>&1 >/dev/null", "time %", "((%))", "echo $((%))", "echo $(( $(%) ))",
    "x[$(%)]=1", "echo ${x[$(%)]}", "echo ${x/a/$(%)}", "x='%'; echo $((x))", "while false; %; do %; done", "echo $'%'; %",
    "echo {a,$(%)}", "let 'x=%'", "echo \\`%\\`", "echo \"\\$(%)\"", "% &\nwait", "echo ${x:+%} ${x:-%}", "true <<E; %\n%\nE\n%",
    "echo \"`echo \\`%\\``\"", "echo $(case x in x) %;; esac)", "echo $(cat <<E\n%\nE\n)", "!(%)", "x=$((%)", "echo x\"`%`\"", "echo x`%`y", "echo \"x`%`\"y",
    "echo x\"$(%)\"'y'", "echo a$(%)b", "echo \"a${x:-\"$(%)\"}\"", "echo <(%)x", "echo '$(%)'\"$(%)\"", "echo''$(%)", "echo $'\\''`%`",
    "cat <<E$(echo)\n%\nE", "cat <<\"E\"x\n%\nEx\n%", "echo \\'%\\'; %", "echo \\\"%\\\"; %", "echo \"'%'\"; %", "echo '\"'; %; echo '\"'",
    "echo ${x:-'%'}; %", "echo \"${x:-'%'}\"; %", "echo ${x:-\\}; %; }", "echo ${x#'}'}; %", "echo \"${x#'}'}\"; %", "x=a%b; %", "echo $x'%'; %",
    "if false; then cat <<E; fi; %\n%\nE\n%", "f() (%); f", "f() if %; then %; fi; f", "echo [$(%)]", "[ x = \"$(%)\" ]", "echo a=$(%)", "echo ${#x} $# ; %",
    "cat <<E # '\nE\n%\n: '\n%\nE", "cat <<E # \\\nE\n%\nE", "cat <<E; echo $'\\''\n%\nE\n%\n: '\n%\nE",
];

fn well_formed() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(NAMES).prop_map(str::to_string);
    leaf.prop_recursive(4, 12, 2, |inner| {
        (prop::sample::select(FORMS), inner.clone(), inner).prop_map(|(form, first, second)| {
            let mut parts = form.split('%');
            let mut script = parts.next().unwrap_or_default().to_string();
            for (part, script_in) in parts.zip([&first, &second, &first]) {
                script.push_str(script_in);
                script.push_str(part);
            }
            script
        })
    })
}

/// A piece put somewhere into a script, in place of some of it.
fn disturbed() -> impl Strategy<Value = String> {
    let piece = prop::option::weighted(0.7, prop::sample::select(PIECES));
    (well_formed(), piece, any::<prop::sample::Index>(), 0..4usize).prop_map(|(script, piece, at, cut)| {
        let characters: Vec<char> = script.chars().collect();
        let at = at.index(characters.len() + 1);
        let rest = characters.get(at + cut..).unwrap_or_default();
        characters[..at].iter().collect::<String>()
            + piece.unwrap_or_default()
            + &rest.iter().collect::<String>()
    })
}

#[test]
fn what_shells_read_differently_is_not_clear() {
    for script in [
        "!(aa)",
        "echo \"$`dd`(aa)\"",
        "((cat <<'E'\n$(aa)\nE\nbb))",
        "cat <<-E\n\t`(aa)`\n\tE\n",
        "echo ${x:-cat <(bb)}",
        "shopt -s extglob\n!(aa)",
        "echo $((aa); bb",
        "ec\"`echo \\`if aa; then aa; fi\\``\"",
        "echo \u{a0}#; aa",
        "x=(1 $(echo $'\\''`aa`))",
        "echo x\"`aa`\"",
        "echo $\\'{x:-$(echo '\"'; aa; echo '\"')}",
        "echo \"a${x:-\"$({ aa; })\"}\"",
        "echo x\"$(x=(cat <<E\n$(aa)\nE\nbb))\"'y'",
    ] {
        assert!(!read(script).is_clear, "{script}");
    }
}

#[test]
fn nothing_hides_behind_the_line_of_a_here_document() {
    let directory = programs();
    for script in [
        "cat <<E # don't\nE\n# that's\naa\nE\n",
        "cat <<E # say \"\nE\n# \"\naa\nE\n",
        "cat <<E # \\\nE\naa\nE\n",
        "cat <<-E;# '\n\tE\n# '\naa\nE\n",
        "cat <<= # '\n=\n# '\naa\n=\n",
        "cat <<'E' && echo $'\\''\nE\n# '\naa\nE\n",
        "if false; then cat <<E; fi; echo $'\\''`bb`\ncat <<'E'\n$(bb)\nE\naa\nE\necho $'\\''`bb`",
    ] {
        assert!(run(directory.path(), script).contains("aa"), "{script:?}");
        assert_eq!(check(directory.path(), script), Ok(()));
    }
    for script in [
        "cat <<'E' 2>&1 | sort -u > 'a b'\naa\nE\n",
        "cat <<E | grep \"#\"\naa # it's\nE\n",
        "cat <<<x # it's\n",
    ] {
        assert!(read(script).is_clear, "{script:?}");
    }
}

#[test]
fn words_are_known_or_said_not_to_be() {
    let words = |script: &str| read(script).commands.pop().map(|simple| simple.words).unwrap_or_default();
    let texts = |script: &str| words(script).into_iter().map(|word| word.text).collect::<Vec<_>>();
    let known = |text: &str| Some(text.to_string());
    assert_eq!(texts("a 'b c' \"d\"e \\f $'\\x67'"), ["a", "b c", "de", "f", "g"].map(known));
    assert_eq!(texts("a \"~/x\" ~/y"), ["a", "./~/x", "~/y"].map(known));
    assert_eq!(texts("a $b \"$c\" d$e $(f) *.g {h,i}"), [known("a"), None, None, None, None, None, None]);
    let may: Vec<bool> = words("a -b c $d \"$e\" f$g \"f$g\" * h* \"$HOME/x\" {-i,j}")
        .iter()
        .map(Word::may_be_option)
        .collect();
    let expected = [false, true, false, true, true, true, false, true, false, false, true];
    assert_eq!(may, expected);
    // The value of a variable that is changed is not known any more.
    assert!(words("HOME=-x; a \"$HOME\"")[1].may_be_option());
}

#[test]
fn bash_runs_nothing_that_was_not_seen() {
    let directory = programs();
    // The same scripts every time; with `GSV_FUZZ_CASES`, so many others.
    let wanted = std::env::var("GSV_FUZZ_CASES").ok().and_then(|text| text.parse().ok());
    let config = Config { cases: wanted.unwrap_or(200), failure_persistence: None, ..Config::default() };
    let mut runner = match wanted {
        Some(_) => TestRunner::new(config),
        None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
    };
    let pieces =
        prop::collection::vec(prop::sample::select(PIECES), 1..14).prop_map(|pieces| pieces.concat());
    let scripts = prop_oneof![1 => pieces, 1 => well_formed(), 3 => disturbed()];
    let outcome =
        runner.run(&scripts, |script| check(directory.path(), &script).map_err(TestCaseError::fail));
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
