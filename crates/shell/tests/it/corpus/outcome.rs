//! Outcome of a script, and the comparison of two.

use std::collections::BTreeMap;

/// What a script did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What it printed, with the home's path replaced by `/home/ann`.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
    /// How it ended.
    pub code: i32,
    /// What lies in the home afterwards, by path.
    pub files: BTreeMap<String, Entry>,
}

/// Something in the home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A file with its mode and content.
    File(u32, Vec<u8>),
    /// A directory with its mode.
    Directory(u32),
    /// A link and where it leads.
    Link(String),
}

/// Every way in which ours differs from the real one; empty when they are equal. Of stderr only matters whether
/// there is any: the words are each program's own.
pub fn compare(real: &Outcome, ours: &Outcome) -> Vec<String> {
    let mut out = Vec::new();
    if real.stdout != ours.stdout {
        out.push(format!("stdout\n  bash: {:?}\n  ours: {:?}", real.stdout, ours.stdout));
    }
    if real.code != ours.code {
        out.push(format!("exit code\n  bash: {}\n  ours: {}", real.code, ours.code));
    }
    if real.stderr.is_empty() != ours.stderr.is_empty() {
        out.push(format!("stderr\n  bash: {:?}\n  ours: {:?}", real.stderr, ours.stderr));
    }
    let paths: std::collections::BTreeSet<&String> = real.files.keys().chain(ours.files.keys()).collect();
    for path in paths {
        let (theirs, mine) = (real.files.get(path), ours.files.get(path));
        if theirs != mine {
            out.push(format!("file {path}\n  bash: {}\n  ours: {}", show(theirs), show(mine)));
        }
    }
    out
}

fn show(entry: Option<&Entry>) -> String {
    match entry {
        None => "is not there".into(),
        Some(Entry::File(mode, bytes)) => format!("file {mode:o} {:?}", String::from_utf8_lossy(bytes)),
        Some(Entry::Directory(mode)) => format!("directory {mode:o}"),
        Some(Entry::Link(target)) => format!("link to {target}"),
    }
}
