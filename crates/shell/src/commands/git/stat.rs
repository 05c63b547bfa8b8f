//! Summaries of differences: `--stat`, `--shortstat`, `--numstat`.

use super::content::Content;
use super::hunks;
use super::patch::is_binary;
use super::quote::quoted;
use super::trees::Change;

/// How wide `--stat` is.
const WIDTH: usize = 80;

/// How much of a file changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) path: String,
    pub(super) amount: Amount,
}

/// Lines, or bytes of what is no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    Lines { added: u64, deleted: u64 },
    Bytes { old: u64, new: u64 },
}

/// Counts what changed in a file.
pub(super) fn count(change: &Change, old: &Content, new: &Content) -> Counted {
    let is_same =
        change.old.as_ref().map(|entry| &entry.hash) == change.new.as_ref().map(|entry| &entry.hash);
    let amount = match (old, new) {
        (Content::Bytes(old), Content::Bytes(new)) if !is_binary_pair(old, new) => {
            let (added, deleted) = hunks::counted(&hunks::between(old, new));
            Amount::Lines { added, deleted }
        }
        _ if is_same => Amount::Bytes { old: 0, new: 0 },
        _ => Amount::Bytes { old: old.size(), new: new.size() },
    };
    Counted { path: change.path.clone(), amount }
}

fn is_binary_pair(old: &[u8], new: &[u8]) -> bool {
    let probe = |bytes: &[u8]| is_binary(&Content::Bytes(bytes[..bytes.len().min(8_000)].to_vec()));
    probe(old) || probe(new)
}

/// ` 2 files changed, 3 insertions(+), 1 deletion(-)`, nothing when nothing changed.
pub(super) fn summary(files: &[Counted]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let (mut added, mut deleted) = (0, 0);
    for file in files {
        if let Amount::Lines { added: more, deleted: fewer } = file.amount {
            added += more;
            deleted += fewer;
        }
    }
    let many = |count: u64, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let mut out = format!(" {} changed", many(files.len() as u64, "file"));
    if added > 0 || deleted == 0 {
        out += &format!(", {}(+)", many(added, "insertion"));
    }
    if deleted > 0 || added == 0 {
        out += &format!(", {}(-)", many(deleted, "deletion"));
    }
    out + "\n"
}

/// Lines added, lines deleted and the name, with tabs between.
pub(super) fn numbers(files: &[Counted]) -> String {
    let line = |file: &Counted| match file.amount {
        Amount::Lines { added, deleted } => format!("{added}\t{deleted}\t{}\n", quoted(&file.path)),
        Amount::Bytes { .. } => format!("-\t-\t{}\n", quoted(&file.path)),
    };
    files.iter().map(line).collect()
}

/// The columns of ` name | 4 ++--`.
struct Columns {
    name: usize,
    number: usize,
    graph: usize,
    most: u64,
}

impl Columns {
    /// As wide as git makes them.
    fn of(files: &[(String, Amount)]) -> Columns {
        let digits = |number: u64| number.to_string().len();
        let longest = files.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let (mut most, mut bytes_width, mut number) = (0, 0, 0);
        for (_, amount) in files {
            match *amount {
                Amount::Lines { added, deleted } => most = most.max(added + deleted),
                Amount::Bytes { old, new } => {
                    bytes_width = bytes_width.max(14 + digits(old) + digits(new));
                    number = 3;
                }
            }
        }
        let number = number.max(digits(most));
        let wanted = most as usize;
        let mut graph = if wanted + 4 > bytes_width { wanted } else { bytes_width - 4 };
        let mut name = longest;
        let width = WIDTH.max(16 + 6 + number);
        if name + number + 6 + graph > width {
            graph = graph.min((width * 3 / 8).saturating_sub(number + 6).max(6));
            match name > width - number - 6 - graph {
                true => name = width - number - 6 - graph,
                false => graph = width - number - 6 - name,
            }
        }
        Columns { name, number, graph, most }
    }

    fn line(&self, name: &str, amount: Amount) -> String {
        let (prefix, name) = self.cut(name);
        let pad = " ".repeat(self.name.saturating_sub(prefix.len() + name.chars().count()));
        let head = format!(" {prefix}{name}{pad} |");
        let width = self.number;
        match amount {
            Amount::Bytes { old: 0, new: 0 } => format!("{head} {:>width$}\n", "Bin"),
            Amount::Bytes { old, new } => format!("{head} {:>width$} {old} -> {new} bytes\n", "Bin"),
            Amount::Lines { added, deleted } => {
                let total = added + deleted;
                let (plus, minus) = self.marks(added, deleted);
                let gap = if total > 0 { " " } else { "" };
                format!("{head} {total:>width$}{gap}{}{}\n", "+".repeat(plus), "-".repeat(minus))
            }
        }
    }

    /// The end of a name that is too long, from a slash on if there is one.
    fn cut<'a>(&self, name: &'a str) -> (&'static str, &'a str) {
        let length = name.chars().count();
        if length <= self.name {
            return ("", name);
        }
        let skipped = length - self.name.saturating_sub(3);
        let start = name.char_indices().nth(skipped).map_or(name.len(), |(at, _)| at);
        let rest = &name[start..];
        ("...", rest.find('/').map_or(rest, |at| &rest[at..]))
    }

    fn marks(&self, added: u64, deleted: u64) -> (usize, usize) {
        if self.graph as u64 > self.most {
            return (added as usize, deleted as usize);
        }
        let scaled = |count: u64| match count {
            0 => 0,
            count => 1 + (count as usize * (self.graph - 1)) / self.most as usize,
        };
        let mut total = scaled(added + deleted);
        if total < 2 && added > 0 && deleted > 0 {
            total = 2;
        }
        match added < deleted {
            true => (scaled(added), total - scaled(added)),
            false => (total - scaled(deleted), scaled(deleted)),
        }
    }
}

/// One line for each file, and the summary.
pub(super) fn table(files: &[Counted]) -> String {
    let named: Vec<(String, Amount)> = files.iter().map(|file| (quoted(&file.path), file.amount)).collect();
    let columns = Columns::of(&named);
    let mut out: String = named.iter().map(|(name, amount)| columns.line(name, *amount)).collect();
    out += &summary(files);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_and_many_lines_fit_into_eighty_columns() {
        let file = |path: &str, added, deleted| Counted {
            path: path.to_string(),
            amount: Amount::Lines { added, deleted },
        };
        let long = format!("{}/{}", "d".repeat(60), "f".repeat(30));
        let out = table(&[file(&long, 400, 3), file("a", 0, 0)]);
        assert!(out.lines().all(|line| line.chars().count() <= WIDTH), "{out}");
        assert!(out.ends_with(" 2 files changed, 400 insertions(+), 3 deletions(-)\n"), "{out}");
    }
}
