//! Parser of the corpus on disk: topic files with named cases, and the list of the known differences.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where the corpus is.
pub fn corpus_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// One script.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its file, without number and ending, such as `arrays`.
    pub topic: String,
    /// `topic/name`
    pub name: String,
    /// What our shell runs.
    pub script: String,
    /// What the real bash runs, where the machine lacks a command.
    pub instead: Option<String>,
}

impl Case {
    /// What the real bash runs.
    pub fn real_script(&self) -> &str {
        self.instead.as_deref().unwrap_or(&self.script)
    }
}

/// Every case, in the order of the files.
pub fn load() -> Vec<Case> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(corpus_directory())
        .expect("the corpus is listed")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "sh"))
        .collect();
    files.sort();
    let cases: Vec<Case> = files.iter().flat_map(|file| parse(file)).collect();
    let mut seen = std::collections::BTreeSet::new();
    for case in &cases {
        assert!(seen.insert(&case.name), "two cases are named {}", case.name);
    }
    cases
}

/// A case begins with a line `#### name`; `#### instead` begins what the real bash runs in its place.
fn parse(file: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(file).expect("a topic file is read");
    let stem = file.file_stem().expect("a name").to_string_lossy();
    let topic = stem.split_once('-').expect("a file is named NN-topic.sh").1.to_string();
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("#### "), cases.last_mut()) {
            (Some("instead"), Some(case)) => case.instead = Some(String::new()),
            (Some(name), _) => cases.push(Case {
                topic: topic.clone(),
                name: format!("{topic}/{name}"),
                script: String::new(),
                instead: None,
            }),
            (None, Some(case)) => {
                let part = case.instead.as_mut().unwrap_or(&mut case.script);
                part.push_str(line);
                part.push('\n');
            }
            (None, None) => {}
        }
    }
    cases
}

/// The differences we know: the case's name and the cause, one line each.
pub fn known() -> BTreeMap<String, String> {
    let text =
        std::fs::read_to_string(corpus_directory().join("known-differences.txt")).expect("the list is read");
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (name, cause) = line.split_once(": ").expect("a line is `topic/name: cause`");
            (name.to_string(), cause.to_string())
        })
        .collect()
}
