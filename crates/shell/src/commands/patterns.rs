//! Glob matcher: patterns with `*`, `?` and `[…]`, where a slash is a character like any other.

/// Whether a pattern matches the whole text.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Where to go on when what follows the last star does not fit.
    let mut star: Option<(usize, usize)> = None;
    loop {
        let step = match pattern.get(p) {
            Some('*') => {
                star = Some((p + 1, t));
                p += 1;
                continue;
            }
            None if t == text.len() => return true,
            None => None,
            Some(_) if t == text.len() => return false,
            Some(_) => one(&pattern[p..], text[t]),
        };
        match (step, star) {
            (Some(length), _) => (p, t) = (p + length, t + 1),
            (None, Some((after, from))) if from < text.len() => {
                star = Some((after, from + 1));
                (p, t) = (after, from + 1);
            }
            _ => return false,
        }
    }
}

/// How long the part of the pattern is that stands for this one letter; `None` when it does not.
fn one(pattern: &[char], letter: char) -> Option<usize> {
    match pattern {
        ['?', ..] => Some(1),
        ['[', ..] => match set(pattern) {
            Some((length, negated, items)) => (items.contains(&letter) != negated).then_some(length),
            None => (letter == '[').then_some(1),
        },
        ['\\', escaped, ..] => (*escaped == letter).then_some(2),
        [plain, ..] => (*plain == letter).then_some(1),
        [] => None,
    }
}

/// The letters of a set.
struct Items<'a>(&'a [char]);

impl Items<'_> {
    fn contains(&self, letter: &char) -> bool {
        let mut rest = self.0;
        while let [first, more @ ..] = rest {
            match more {
                ['-', last, after @ ..] => {
                    if (first..=last).contains(&letter) {
                        return true;
                    }
                    rest = after;
                }
                _ => {
                    if first == letter {
                        return true;
                    }
                    rest = more;
                }
            }
        }
        false
    }
}

/// Reads `[abc]`, `[a-z]`, `[!a]`; `None` when it has no end.
fn set(pattern: &[char]) -> Option<(usize, bool, Items<'_>)> {
    let negated = matches!(pattern.get(1), Some('!' | '^'));
    let begin = if negated { 2 } else { 1 };
    // A bracket that comes first is a letter of the set.
    let end = pattern.iter().skip(begin + 1).position(|letter| *letter == ']')? + begin + 1;
    Some((end + 1, negated, Items(&pattern[begin..end])))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        for (pattern, text, fits) in [
            ("*.h", "src/util.h", true),
            ("*.h", "util.hpp", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*", "", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[]x]", "]", true),
            ("[x", "[x", true),
            ("\\*", "*", true),
            ("\\*", "x", false),
            ("", "", true),
            ("", "x", false),
            ("*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }
}
