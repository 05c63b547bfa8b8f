//! Conformance corpus: every script is run by the native shell and by the machine's bash, and compared.
//!
//! `GSV_CORPUS=text` runs only the cases whose name has the text and prints how they differ.

mod case;
mod fixture;
mod ours;
mod outcome;
mod real;
mod report;

use std::collections::BTreeMap;
use std::sync::Mutex;

use case::Case;
use ours::Ours;
use report::Verdict;

/// The home of the user who runs the scripts.
const HOME: &str = "/home/ann";
/// After so long a script is taken not to end.
const LIMIT_SECONDS: u64 = 10;
/// What the issue asks for.
const SCRIPTS_MIN: usize = 300;
const EQUAL_PERCENT_MIN: usize = 97;

#[test]
fn corpus() {
    if let Some(why) = real::missing() {
        if cfg!(target_os = "linux") {
            panic!("{why}");
        }
        eprintln!("not compared: {why}");
        return;
    }
    let wanted = std::env::var("GSV_CORPUS").ok();
    let mut cases = case::load();
    if let Some(text) = &wanted {
        cases.retain(|case| case.name.contains(text.as_str()));
    }
    let verdicts = judge(cases);
    let known = case::known();
    let complaints = complaints(&verdicts, &known, wanted.is_some());
    let page = wanted.is_none().then(|| report::Page::of(&verdicts, &known));
    if let Some(page) = &page {
        page.write_if_asked();
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    if let Some(page) = &page {
        check_share(&verdicts);
        page.check();
    }
}

/// Runs the cases on a few threads; the verdicts are in the order of the cases.
fn judge(cases: Vec<Case>) -> Vec<Verdict> {
    // Two to a core: some scripts sleep.
    let threads = std::thread::available_parallelism().map_or(4, |cores| 2 * cores.get()).clamp(4, 8);
    let fixtures = fixture::load();
    let left = Mutex::new(cases.into_iter().enumerate());
    let done = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let runtime = runtime.expect("a runtime");
                let shell = runtime.block_on(Ours::new(&fixtures));
                while let Some((at, case)) = { left.lock().expect("cases").next() } {
                    let real = real::run(case.real_script(), &fixtures);
                    let ours = runtime.block_on(shell.run(&case.script));
                    let differences = outcome::compare(&real, &ours);
                    done.lock().expect("verdicts").insert(at, Verdict { case, differences });
                }
            });
        }
    });
    done.into_inner().expect("verdicts").into_values().collect()
}

/// Cases that differ and are not listed, or are listed and do not differ. With `all`, every difference.
fn complaints(verdicts: &[Verdict], known: &BTreeMap<String, String>, all: bool) -> Vec<String> {
    let mut out = Vec::new();
    for Verdict { case, differences } in verdicts {
        match (differences.is_empty(), known.get(&case.name)) {
            (false, None) => out.push(format!("== {} differs: {}", case.name, differences.join("\n"))),
            (false, Some(_)) if all => eprintln!("== {} differs: {}", case.name, differences.join("\n")),
            (true, Some(_)) => {
                out.push(format!("== {} no longer differs: take it off the list", case.name));
            }
            _ => {}
        }
    }
    let listed = known.keys().filter(|name| !all && verdicts.iter().all(|one| one.case.name != **name));
    out.extend(listed.map(|name| format!("== {name} is listed as different, but there is no such case")));
    out
}

fn check_share(verdicts: &[Verdict]) {
    let equal = verdicts.iter().filter(|verdict| verdict.differences.is_empty()).count();
    assert!(verdicts.len() >= SCRIPTS_MIN, "the corpus has only {} scripts", verdicts.len());
    assert!(
        equal * 100 >= verdicts.len() * EQUAL_PERCENT_MIN,
        "only {equal} of {} scripts are equal",
        verdicts.len()
    );
}
