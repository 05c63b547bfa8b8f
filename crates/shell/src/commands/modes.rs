//! Parser of `chmod` modes: permission bits as text, and changes to them: `755`, `u+rwx,g-w,a=r`, `+X`.

use vfs::{FileKind, Stat};

/// `drwxr-xr-x`
pub(super) fn text(stat: &Stat) -> String {
    let kind = match stat.kind {
        FileKind::File => '-',
        FileKind::Directory => 'd',
        FileKind::Link => 'l',
    };
    let mut out = String::with_capacity(10);
    out.push(kind);
    for (shift, special, set, unset) in [(6, 0o4000, 's', 'S'), (3, 0o2000, 's', 'S'), (0, 0o1000, 't', 'T')]
    {
        let bits = stat.mode >> shift;
        out.push(if bits & 4 != 0 { 'r' } else { '-' });
        out.push(if bits & 2 != 0 { 'w' } else { '-' });
        out.push(match (stat.mode & special != 0, bits & 1 != 0) {
            (true, true) => set,
            (true, false) => unset,
            (false, true) => 'x',
            (false, false) => '-',
        });
    }
    out
}

/// A change to permission bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// These bits, whatever they were.
    Octal(u32),
    /// One clause after the other.
    Symbolic(Vec<Clause>),
}

/// One clause, such as `go-w`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Clause {
    /// For whom: `4` user, `2` group, `1` others.
    who: u32,
    operator: char,
    /// What: letters of `rwxXst`, or one of `ugo` to copy from.
    letters: String,
}

impl Change {
    /// Reads one; `None` when it makes no sense.
    pub fn parse(text: &str) -> Option<Change> {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o7777).map(Change::Octal);
        }
        let mut clauses = Vec::new();
        for clause in text.split(',') {
            parse_clause(clause, &mut clauses)?;
        }
        Some(Change::Symbolic(clauses))
    }

    /// What the bits become.
    pub fn apply(&self, mode: u32, kind: FileKind) -> u32 {
        match self {
            // As with the usual tools, set-id bits of a directory stay unless they are named.
            Change::Octal(bits) if kind == FileKind::Directory && *bits <= 0o777 => bits | (mode & 0o6000),
            Change::Octal(bits) => *bits,
            Change::Symbolic(clauses) => clauses.iter().fold(mode, |mode, clause| clause.apply(mode, kind)),
        }
    }
}

/// `who` and then one or more of operator and letters, as in `u+r-w`.
fn parse_clause(text: &str, clauses: &mut Vec<Clause>) -> Option<()> {
    let start = text.find(['+', '-', '='])?;
    let mut who = 0;
    for letter in text[..start].chars() {
        who |= match letter {
            'u' => 4,
            'g' => 2,
            'o' => 1,
            'a' => 7,
            _ => return None,
        };
    }
    let mut rest = &text[start..];
    while let Some(operator) = rest.chars().next() {
        let end = rest[1..].find(['+', '-', '=']).map_or(rest.len(), |at| at + 1);
        let letters = &rest[1..end];
        let copies = matches!(letters, "u" | "g" | "o");
        if !copies && !letters.chars().all(|letter| "rwxXst".contains(letter)) {
            return None;
        }
        clauses.push(Clause { who: if who == 0 { 7 } else { who }, operator, letters: letters.to_string() });
        rest = &rest[end..];
    }
    Some(())
}

impl Clause {
    fn apply(&self, mode: u32, kind: FileKind) -> u32 {
        let (bits, covered) = (self.bits(mode, kind), self.covered(kind));
        match self.operator {
            '+' => mode | bits,
            '-' => mode & !bits,
            _ => (mode & !covered) | bits,
        }
    }

    /// The bits it names, for those it is for.
    fn bits(&self, mode: u32, kind: FileKind) -> u32 {
        let mut three = match self.letters.as_str() {
            "u" => (mode >> 6) & 7,
            "g" => (mode >> 3) & 7,
            "o" => mode & 7,
            _ => 0,
        };
        let mut special = 0;
        for letter in self.letters.chars() {
            match letter {
                'r' => three |= 4,
                'w' => three |= 2,
                'x' => three |= 1,
                'X' if kind == FileKind::Directory || mode & 0o111 != 0 => three |= 1,
                's' => {
                    special |= if self.who & 4 != 0 { 0o4000 } else { 0 }
                        | if self.who & 2 != 0 { 0o2000 } else { 0 }
                }
                't' if self.who & 1 != 0 => special |= 0o1000,
                _ => {}
            }
        }
        [(4, 6), (2, 3), (1, 0)]
            .into_iter()
            .filter(|(who, _)| self.who & who != 0)
            .fold(special, |bits, (_, shift)| bits | (three << shift))
    }

    /// The bits that `=` clears first.
    fn covered(&self, kind: FileKind) -> u32 {
        let kept = kind == FileKind::Directory && !self.letters.contains('s');
        [(4, 0o700, 0o4000), (2, 0o070, 0o2000), (1, 0o007, 0o1000)]
            .into_iter()
            .filter(|(who, _, _)| self.who & who != 0)
            .fold(0, |bits, (who, three, special)| bits | three | if kept && who != 1 { 0 } else { special })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_those_of_chmod() {
        let cases = [
            (0o644, FileKind::File, "755", 0o755),
            (0o644, FileKind::File, "u+x", 0o744),
            (0o644, FileKind::File, "+x", 0o755),
            (0o777, FileKind::File, "go-w", 0o755),
            (0o777, FileKind::File, "a=r", 0o444),
            (0o640, FileKind::File, "g=u", 0o660),
            (0o644, FileKind::File, "o=", 0o640),
            (0o644, FileKind::File, "a+X", 0o644),
            (0o744, FileKind::File, "a+X", 0o755),
            (0o644, FileKind::Directory, "a+X", 0o755),
            (0o600, FileKind::File, "u+x,g+r,o=r", 0o744),
            (0o600, FileKind::File, "u+x-w", 0o500),
            (0o755, FileKind::Directory, "+t", 0o1755),
            (0o755, FileKind::File, "u+s,g+s", 0o6755),
            (0o2755, FileKind::Directory, "700", 0o2700),
            (0o2755, FileKind::File, "700", 0o700),
            (0o2755, FileKind::Directory, "g=rx", 0o2755),
        ];
        for (mode, kind, text, becomes) in cases {
            let change = Change::parse(text).unwrap();
            assert_eq!(change.apply(mode, kind), becomes, "{mode:o} {text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "z", "999", "u~x", "u+q", "10000", "u", ",u+x", "u+x,"] {
            assert_eq!(Change::parse(text), None, "{text:?}");
        }
    }
}
