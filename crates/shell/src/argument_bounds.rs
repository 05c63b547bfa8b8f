//! Bounds read off the arguments of the interpreter's own builtins: how many bytes `head`, `od` and `dd` take, and how
//! much longer `sed` can make a text.

pub(crate) fn bytes_of_head(args: &[String]) -> Option<usize> {
    let mut rest = args.iter();
    while let Some(word) = rest.next() {
        let value = match word.as_str() {
            "-c" | "--bytes" => rest.next()?.as_str(),
            word => match word.strip_prefix("--bytes=").or_else(|| word.strip_prefix("-c")) {
                Some(value) => value,
                None => continue,
            },
        };
        return size(value);
    }
    None
}

pub(crate) fn bytes_of_od(args: &[String]) -> Option<usize> {
    let at = args.iter().position(|word| word.starts_with("-N") || word.starts_with("--read-bytes"))?;
    match args[at].strip_prefix("-N").or_else(|| args[at].strip_prefix("--read-bytes="))? {
        "" => size(args.get(at + 1)?),
        attached => size(attached),
    }
}

pub(crate) fn bytes_of_dd(args: &[String]) -> Option<usize> {
    let value = |key: &str| args.iter().rev().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    let block = match value("bs").or_else(|| value("ibs")) {
        Some(text) => size(text)?,
        None => 512,
    };
    let skipped = value("skip").map_or(Some(0), size)?;
    size(value("count")?)?.checked_add(skipped)?.checked_mul(block)
}

/// `20`, `16K`, `1MB`, `2MiB`.
pub(crate) fn size(text: &str) -> Option<usize> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number: usize = text[..digits].parse().ok()?;
    let unit: usize = match &text[digits..] {
        "" | "c" => 1,
        "b" => 512,
        "kB" | "KB" => 1_000,
        "k" | "K" | "KiB" => 1 << 10,
        "MB" => 1_000_000,
        "M" | "MiB" => 1 << 20,
        "GB" => 1_000_000_000,
        "G" | "GiB" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(unit)
}

/// `if=/dev/zero`, unless `dd` reads another file.
pub(crate) fn input_of_dd(args: &[String], device: &str) -> Option<String> {
    (!args.iter().any(|word| word.starts_with("if="))).then(|| format!("if={device}"))
}

/// The device itself, unless `head` reads another file.
pub(crate) fn input_of_head(args: &[String], device: &str) -> Option<String> {
    (!names_a_file(args)).then(|| device.to_string())
}

fn names_a_file(args: &[String]) -> bool {
    let mut rest = args.iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "-c" | "-n" | "--bytes" | "--lines" => drop(rest.next()),
            word if word.len() > 1 && word.starts_with('-') => {}
            _ => return true,
        }
    }
    false
}

/// How many times as long the text may become that a `sed` makes: for each `s` with the flag `g`, by what a match
/// is replaced with, over the least it matches.
pub(crate) fn growth_of_sed(args: &[String]) -> usize {
    let mut times = 1usize;
    for script in args {
        let mut rest = script.as_str();
        while let Some(at) = rest.find('s') {
            let is_command = !rest[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '\\');
            rest = &rest[at + 1..];
            let Some(mark) = rest.chars().next().filter(|mark| mark.is_ascii_punctuation() && is_command)
            else {
                continue;
            };
            let mut parts = rest[1..].split(mark);
            let (Some(pattern), Some(with), Some(flags)) = (parts.next(), parts.next(), parts.next()) else {
                continue;
            };
            let flags = flags.split([';', '}', ' ', '\n']).next().unwrap_or_default();
            let copies = with.matches(['&', '\\']).count();
            let is_plain = !pattern.contains(['.', '*', '[', '\\', '^', '$', '+', '?', '(', '|', '{']);
            let least = if is_plain { pattern.len().max(1) } else { 1 };
            let more = if flags.contains('g') { with.len() / least } else { 0 };
            times = times.saturating_mul(copies.max(1).saturating_add(more));
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::growth_of_sed;

    #[test]
    fn a_substitution_makes_texts_longer_by_what_it_puts_in() {
        for (script, times) in [
            ("p", 1),
            ("s/foo/bar/", 1),
            ("s/foo/bar/g", 2),
            ("s/x/yyyyyyyyyyyyyyyy/g", 17),
            ("s/.*/&&/", 2),
            ("s/x/xxx/g;s/x/xxx/g", 16),
            ("/s/d", 1),
        ] {
            assert_eq!(growth_of_sed(&[script.to_string()]), times, "{script}");
        }
    }
}
