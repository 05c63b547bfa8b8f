//! POSIX shell quoting.

/// The shell text of a command: one word is shell text already, several are quoted each.
pub fn command(words: &[String]) -> String {
    match words {
        [text] => text.clone(),
        words => words.iter().map(|word| self::word(word)).collect::<Vec<_>>().join(" "),
    }
}

/// One word, quoted where it has to be.
pub fn word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| word.to_string()).collect()
    }

    #[test]
    fn one_word_is_shell_text() {
        assert_eq!(command(&words(&["ls | wc -l"])), "ls | wc -l");
    }

    #[test]
    fn several_words_arrive_as_they_are() {
        assert_eq!(
            command(&words(&["echo", "a b", "", "it's", "$HOME"])),
            r"echo 'a b' '' 'it'\''s' '$HOME'"
        );
        assert_eq!(command(&words(&["ls", "-la", "/tmp/x.y"])), "ls -la /tmp/x.y");
    }

    #[test]
    fn a_real_shell_reads_the_words_back() {
        let given = ["a'b", "c\nd", "\\", "*", "~", "e\"f", "#g", "ü"];
        let text = command(&[words(&["printf", "%s\\0"]), words(&given)].concat());
        let shell = std::process::Command::new("/bin/sh").args(["-c", &text]).output().unwrap();
        let read: Vec<&str> =
            std::str::from_utf8(&shell.stdout).unwrap().trim_end_matches('\0').split('\0').collect();
        assert_eq!(read, given);
    }
}
