//! Programs whose words are a language of their own: each has the small part of it that only reads.

use super::grammar::Word;

/// Whether such a program only reads: `None` when it is not one of these. The words that are paths come back.
pub(super) fn check<'a>(program: &str, words: &'a [Word]) -> Option<Result<Vec<&'a Word>, String>> {
    let no_glob = |result: Result<Vec<&'a Word>, String>| match words.iter().any(|word| word.is_glob) {
        true => Err(format!("has a pattern of file names for {program}")),
        false => result,
    };
    Some(no_glob(match program {
        "find" => find(words),
        "sed" => sed(words),
        "jq" => jq(words),
        "printf" => printf(words),
        "test" => test(words),
        "[" => match words.split_last() {
            Some((last, words)) if last.text == "]" && !last.is_quoted => test(words),
            _ => Err("has a [ without a ]".to_string()),
        },
        "date" => date(words),
        "ps" => ps(words),
        "command" => command(words),
        "seq" | "sleep" => numbers(program, words),
        _ => return None,
    }))
}

fn not_known(program: &str, word: &str) -> String {
    format!("uses an option of {program} that is not known to only read: {word}")
}

/// Tests of `find`, those that take a word first.
const FIND_VALUED: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-regex",
    "-iregex",
    "-regextype",
    "-type",
    "-maxdepth",
    "-mindepth",
    "-size",
    "-mtime",
    "-mmin",
    "-atime",
    "-amin",
    "-ctime",
    "-cmin",
    "-newer",
    "-perm",
    "-user",
    "-group",
    "-links",
    "-uid",
    "-gid",
    "-printf",
];
const FIND_PLAIN: &[&str] = &[
    "-empty",
    "-not",
    "!",
    "-a",
    "-and",
    "-o",
    "-or",
    "(",
    ")",
    "-print",
    "-print0",
    "-prune",
    "-depth",
    "-xdev",
    "-mount",
    "-readable",
    "-writable",
    "-executable",
    "-true",
    "-false",
    "-quit",
    "-ls",
    "-nouser",
    "-nogroup",
    "-noleaf",
    "-daystart",
];

/// Starting points, then tests; no action but printing.
fn find(words: &[Word]) -> Result<Vec<&Word>, String> {
    let is_start = |word: &&Word| !word.text.starts_with(['-', '(', '!']) && !word.text.is_empty();
    let mut rest = words;
    while rest.first().is_some_and(|word| matches!(word.text.as_str(), "-H" | "-P")) {
        rest = &rest[1..];
    }
    let count = rest.iter().take_while(is_start).count();
    let (starts, mut tests) = rest.split_at(count);
    while let Some((word, after)) = tests.split_first() {
        let text = word.text.as_str();
        tests = match text {
            _ if FIND_PLAIN.contains(&text) => after,
            _ if FIND_VALUED.contains(&text) => {
                after.get(1..).ok_or_else(|| format!("has find {text} without a value"))?
            }
            _ => return Err(not_known("find", text)),
        };
    }
    Ok(starts.iter().collect())
}

/// `sed -n '10,20p' FILE`: only printing of lines by number or by a plain pattern.
fn sed(words: &[Word]) -> Result<Vec<&Word>, String> {
    let [option, script, files @ ..] = words else {
        return Err("runs a sed that is not just -n and a script".to_string());
    };
    let is_silent = matches!(option.text.as_str(), "-n" | "--quiet" | "--silent" | "-nE" | "-En" | "-nr");
    if !is_silent || files.iter().any(|word| word.text.starts_with('-') && word.text.len() > 1) {
        return Err("runs a sed that is not just -n and a script".to_string());
    }
    if !script.text.split(';').all(prints) {
        return Err(format!("runs a sed that may do more than print: {}", script.text));
    }
    Ok(files.iter().collect())
}

/// `5p`, `10,20p`, `$p`, `5,$p`, `/word/p`, `/from/,/to/p`, `20q`, `=`
fn prints(command: &str) -> bool {
    let is_number = |text: &str| {
        text == "$" || (!text.is_empty() && text.len() < 10 && text.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b" _-.:=^$<>\"#@%+*".contains(&byte);
    let is_pattern = |text: &str| {
        let inside = text.strip_prefix('/').and_then(|text| text.strip_suffix('/'));
        inside.is_some_and(|inside| !inside.is_empty() && inside.bytes().all(is_plain))
    };
    let is_address = |text: &str| is_number(text) || is_pattern(text);
    let command = command.trim_matches(' ');
    let Some(addresses) =
        command.strip_suffix('p').or_else(|| command.strip_suffix('=')).or_else(|| command.strip_suffix('q'))
    else {
        return false;
    };
    match addresses.split_once(',') {
        Some((from, to)) => {
            is_address(from) && (is_address(to) || to.strip_prefix('+').is_some_and(is_number))
        }
        None => is_address(addresses),
    }
}

/// A filter and files. Filters that ask for variables, or read modules, are not proved.
fn jq(words: &[Word]) -> Result<Vec<&Word>, String> {
    let (mut operands, mut rest) = (Vec::new(), words);
    while let Some((word, after)) = rest.split_first() {
        rest = match word.text.as_str() {
            "--arg" | "--argjson" => after.get(2..).ok_or("has jq --arg without its words")?,
            "--indent" => after.get(1..).ok_or("has jq --indent without a number")?,
            "--raw-output"
            | "--compact-output"
            | "--null-input"
            | "--slurp"
            | "--sort-keys"
            | "--exit-status"
            | "--tab"
            | "--join-output"
            | "--monochrome-output"
            | "--color-output"
            | "--ascii-output"
            | "--raw-input" => after,
            text if text.starts_with('-') && text.len() > 1 => {
                let is_known = text[1..].bytes().all(|byte| b"rcnsSejaMCR".contains(&byte));
                is_known.then_some(after).ok_or_else(|| not_known("jq", text))?
            }
            _ => {
                operands.push(word);
                after
            }
        };
    }
    let Some((filter, files)) = operands.split_first() else {
        return Err("runs jq without a filter".to_string());
    };
    let asks = ["env", "ENV", "import", "include", "input_line", "get_search", "modulemeta", "$__"];
    if asks.iter().any(|word| filter.text.contains(word)) {
        return Err("runs a jq that asks for variables or modules".to_string());
    }
    Ok(files.to_vec())
}

/// Only text comes out of it: `%n` sets a variable, and numbers are evaluated by zsh.
fn printf(words: &[Word]) -> Result<Vec<&Word>, String> {
    let Some(format) = words.first() else { return Err("runs printf without a format".to_string()) };
    let mut rest = format.text.as_str();
    let mut is_fine = !rest.starts_with('-');
    while let Some(at) = rest.find('%') {
        let after = rest[at + 1..]
            .trim_start_matches(|character: char| character.is_ascii_digit() || character == '-');
        is_fine &= after.starts_with(['s', '%']) && !after.is_empty();
        rest = after.get(1..).unwrap_or_default();
    }
    if is_fine { Ok(Vec::new()) } else { Err("runs a printf with more than %s in its format".to_string()) }
}

/// `-f FILE`, `-n TEXT`, `A = B`, `1 -lt 2`. Nothing that a shell would evaluate.
fn test(words: &[Word]) -> Result<Vec<&Word>, String> {
    let is_plain = |word: &Word| {
        word.text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./-+:@,%=~ ".contains(&byte))
    };
    let is_number =
        |word: &Word| !word.text.is_empty() && word.text.bytes().all(|byte| byte.is_ascii_digit());
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let is_fine = match texts.as_slice() {
        ["-e" | "-f" | "-d" | "-r" | "-w" | "-x" | "-s" | "-L" | "-h" | "-n" | "-z" | "-p" | "-S", _] => {
            is_plain(&words[1])
        }
        [_, "=", _] => is_plain(&words[0]) && is_plain(&words[2]) && !words[0].text.starts_with('-'),
        [_, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge", _] => is_number(&words[0]) && is_number(&words[2]),
        _ => false,
    };
    if is_fine { Ok(Vec::new()) } else { Err("has a test that is not plain".to_string()) }
}

/// Only a format: anything else may set the clock.
fn date(words: &[Word]) -> Result<Vec<&Word>, String> {
    let is_fine = |word: &Word| {
        let text = word.text.as_str();
        text.starts_with('+')
            || matches!(
                text,
                "-u" | "-R"
                    | "-I"
                    | "-Idate"
                    | "-Ihours"
                    | "-Iminutes"
                    | "-Iseconds"
                    | "-Ins"
                    | "--utc"
                    | "--rfc-email"
            )
            || text.starts_with("--iso-8601")
            || text.starts_with("--rfc-3339=")
            || text.starts_with("--date=")
    };
    match words.iter().find(|word| !is_fine(word)) {
        Some(word) => Err(not_known("date", &word.text)),
        None => Ok(Vec::new()),
    }
}

/// Lists of processes; their variables are not asked for.
fn ps(words: &[Word]) -> Result<Vec<&Word>, String> {
    const FIELDS: &[&str] = &[
        "pid", "ppid", "pgid", "user", "uid", "comm", "args", "cmd", "command", "%cpu", "%mem", "pcpu",
        "pmem", "rss", "vsz", "etime", "etimes", "time", "stat", "state", "start", "lstart", "tty", "nice",
        "ni", "pri", "thcount", "nlwp", "sid", "ucmd", "wchan",
    ];
    let are_fields = |text: &str| text.split(',').all(|field| FIELDS.contains(&field.trim_end_matches('=')));
    let are_names = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b",_.-".contains(&byte))
    };
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        let next = after.first().map(|word| word.text.as_str()).unwrap_or_default();
        rest = match word.text.as_str() {
            "aux" | "auxw" | "auxww" | "ax" | "axu" | "x" | "-A" | "-a" | "-e" | "-f" | "-ef" | "-eF"
            | "-ax" | "-x" | "-w" | "-ww" | "-l" | "-efww" | "--forest" | "--no-headers" => after,
            "-o" | "-eo" | "-axo" | "-Ao" | "-efo" if are_fields(next) => &after[1..],
            "-p" | "-u" | "-U" | "-C" | "-g" if are_names(next) => &after[1..],
            text if text
                .strip_prefix("--sort=")
                .is_some_and(|field| are_fields(field.trim_start_matches(['-', '+']))) =>
            {
                after
            }
            text => return Err(not_known("ps", text)),
        };
    }
    Ok(Vec::new())
}

/// `command -v NAME`
fn command(words: &[Word]) -> Result<Vec<&Word>, String> {
    let is_name = |word: &Word| !word.text.starts_with('-');
    match words.split_first() {
        Some((option, names)) if matches!(option.text.as_str(), "-v" | "-V") && names.iter().all(is_name) => {
            Ok(Vec::new())
        }
        _ => Err("runs a program through command".to_string()),
    }
}

fn numbers<'a>(program: &str, words: &'a [Word]) -> Result<Vec<&'a Word>, String> {
    let is_number = |word: &Word| {
        let text = word.text.trim_end_matches(['s', 'm']);
        !text.is_empty() && text.len() < 8 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    if words.iter().all(is_number) {
        Ok(Vec::new())
    } else {
        Err(format!("has something else than numbers for {program}"))
    }
}
