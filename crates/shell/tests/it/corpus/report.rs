//! Generator of the report `docs/reference/shell-conformance.md`: written when `GSV_WRITE_REPORT` is set, else
//! checked.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::case::Case;

/// What is known about one case after both have run it.
pub struct Verdict {
    pub case: Case,
    /// How it differs; empty when it does not.
    pub differences: Vec<String>,
}

/// The report as it should be.
pub struct Page(String);

impl Page {
    /// The report on these verdicts.
    pub fn of(verdicts: &[Verdict], known: &BTreeMap<String, String>) -> Page {
        Page(page(verdicts, known))
    }

    /// Writes it when the environment says so.
    pub fn write_if_asked(&self) {
        if std::env::var_os("GSV_WRITE_REPORT").is_some() {
            std::fs::write(report_path(), &self.0).expect("the report is written");
        }
    }

    /// Fails when the one in the checkout is another.
    pub fn check(&self) {
        let there = std::fs::read_to_string(report_path()).unwrap_or_default();
        assert!(
            there == self.0,
            "docs/reference/shell-conformance.md is out of date; run\n  \
             GSV_WRITE_REPORT=1 cargo test -p shell --test it corpus"
        );
    }
}

fn report_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/shell-conformance.md")
}

fn page(verdicts: &[Verdict], known: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let differing = verdicts.iter().filter(|verdict| !verdict.differences.is_empty()).count();
    let equal = verdicts.len() - differing;
    let share = 100.0 * equal as f64 / verdicts.len() as f64;
    write_line(&mut out, "# How close the native shell is to bash\n");
    write_line(&mut out, INTRODUCTION);
    write_line(&mut out, &format!("{equal} of {} scripts are equal: {share:.1} %.\n", verdicts.len()));
    write_line(&mut out, "## By topic\n\n| Topic | Scripts | Equal | Different |\n|---|---:|---:|---:|");
    for (topic, (all, different)) in topics(verdicts) {
        write_line(&mut out, &format!("| {topic} | {all} | {} | {different} |", all - different));
    }
    write_line(&mut out, "\n## What differs, and why\n");
    if differing == 0 {
        write_line(&mut out, "Nothing.");
    } else {
        write_line(&mut out, "| Script | Cause |\n|---|---|");
    }
    for verdict in verdicts.iter().filter(|verdict| !verdict.differences.is_empty()) {
        let cause = known.get(&verdict.case.name).map_or("not known yet", String::as_str);
        write_line(&mut out, &format!("| `{}` | {} |", verdict.case.name, cause.replace('|', "\\|")));
    }
    out
}

const INTRODUCTION: &str = "\
This page is written by the test `corpus` of the crate `shell`; do not edit it by hand. The scripts are in\n\
`crates/shell/tests/corpus`. Each is run by the native shell and by the machine's bash over the same files, as an\n\
ordinary user. Equal means the same standard output, the same exit code, the same files afterwards (content, mode,\n\
links), and complaints from both or from neither. `rg`, where the machine lacks it, is compared with `grep`.\n";

fn write_line(out: &mut String, line: &str) {
    writeln!(out, "{line}").expect("text takes text");
}

fn topics(verdicts: &[Verdict]) -> Vec<(&str, (usize, usize))> {
    let mut out: Vec<(&str, (usize, usize))> = Vec::new();
    for verdict in verdicts {
        let topic = verdict.case.topic.as_str();
        if out.last().is_none_or(|(last, _)| *last != topic) {
            out.push((topic, (0, 0)));
        }
        if let Some((_, (all, different))) = out.last_mut() {
            *all += 1;
            *different += usize::from(!verdict.differences.is_empty());
        }
    }
    out
}
