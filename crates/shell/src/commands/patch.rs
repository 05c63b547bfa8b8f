//! `patch`: applies unified diffs to files.

mod apply;
mod read;

use vfs::view::Writing;
use vfs::{Code, Fault, Follow};

use super::masks::writing;
use super::options::{Opt, Options, flag, valued};
use super::{Command, Cx, Done, flat, words};
use crate::builtin_io::Io;
use apply::Fit;
use read::{FilePatch, Line};

pub(super) static COMMAND: Command = Command {
    name: "patch",
    aliases: &[],
    about: "apply the changes of a diff to files",
    usage: "[-p N] [-R] [-s] [-N] [-b] [-d DIR] [-i PATCH] [-o OUT] [--dry-run] [FILE [PATCH]]",
    manual: "\
Reads what diff -u wrote, from standard input or from PATCH. Without FILE the files are those it names.
-p N  leave out N directories of their names     -R  take the changes back
-s    say only what went wrong                   -b  keep the old file as FILE.orig
-o    write there, - is standard output          --dry-run  change nothing
A hunk that fits nowhere goes to FILE.rej. Exit code 1 when there was one, 2 when something else went wrong.",
    io: Io::PLAIN,
    run: |cx| Box::pin(async move { flat(patch(cx).await) }),
};

const KNOWN: &[Opt] = &[
    valued('p', "strip"),
    flag('R', "reverse"),
    flag('s', "quiet"),
    flag('\0', "silent"),
    flag('N', "forward"),
    flag('f', "force"),
    flag('t', "batch"),
    flag('u', "unified"),
    flag('b', "backup"),
    flag('E', "remove-empty-files"),
    valued('d', "directory"),
    valued('i', "input"),
    valued('o', "output"),
    flag('\0', "dry-run"),
];

async fn patch(cx: &Cx<'_>) -> Result<Done, Done> {
    let options = Options::parse(cx, &COMMAND, KNOWN, 2)?;
    let trouble = |why: String| Done::failed(cx.name, format!("**** {why}"), 2);
    let strip = options.number("strip").map_err(&trouble)?.map(|strip| strip as usize);
    let source = options.value("input").or(options.operands.get(1).map(String::as_str)).unwrap_or("-");
    let bytes = cx
        .read(source)
        .await
        .map_err(|fault| trouble(format!("Can't open patch file {source} : {}", words(&fault))))?;
    let view = match options.value("directory") {
        Some(directory) => {
            cx.view.at(cx.view.path(directory).map_err(|fault| trouble(words(&fault).to_string()))?.as_str())
        }
        None => cx.view.clone(),
    };
    let cx = &Cx { view: &view, ..*cx };
    let files = read::read(&bytes).map_err(|line| trouble(format!("malformed patch at line {line}")))?;
    if files.is_empty() && !bytes.is_empty() {
        return Err(trouble("Only garbage was found in the patch input.".to_string()));
    }
    let mut done = Done::default();
    for file in files {
        let file = if options.has("reverse") { file.reversed() } else { file };
        one(cx, &options, strip, file, &mut done).await;
    }
    Ok(done)
}

/// Patches one file and says how it went.
async fn one(cx: &Cx<'_>, options: &Options, strip: Option<usize>, file: FilePatch, done: &mut Done) {
    let Some(name) = target(cx, options, strip, &file).await else {
        let display = if file.old == "/dev/null" { &file.new } else { &file.old };
        done.print(format!("can't find file to patch: {display}\n"));
        done.code = done.code.max(1);
        return;
    };
    if let Err(fault) = bring(cx, options, &name, &file, done).await {
        done.complain(cx.name, format!("**** Can't patch file {name} : {}", words(&fault)), 2);
    }
}

async fn bring(
    cx: &Cx<'_>,
    options: &Options,
    name: &str,
    file: &FilePatch,
    done: &mut Done,
) -> Result<(), Fault> {
    let path = cx.view.path(name)?;
    let old = match cx.view.read(&path).await {
        Err(fault) if fault.code == Code::NotFound => Vec::new(),
        read => read?,
    };
    let lines: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
    let (mut new, mut fits) = apply::apply(&lines, &file.hunks);
    let quiet = options.has("quiet") || options.has("silent");
    let dry = options.has("dry-run");
    if !quiet {
        done.print(format!("{} file {name}\n", if dry { "checking" } else { "patching" }));
    }
    if matches!(fits.first(), Some(Fit::Nowhere { .. })) && fits_reversed(&lines, file) {
        done.print("Reversed (or previously applied) patch detected!  Skipping patch.\n");
        (new, fits) = (old.clone(), vec![Fit::Nowhere { line: 0 }; fits.len()]);
    }
    let failed = tell(&fits, quiet, done);
    if !failed.is_empty() {
        let (many, all) = (failed.len(), fits.len());
        let hunks = if all == 1 { "hunk" } else { "hunks" };
        let rejects = if dry { String::new() } else { format!(" -- saving rejects to file {name}.rej") };
        done.print(format!("{many} out of {all} {hunks} FAILED{rejects}\n"));
        done.code = done.code.max(1);
        if !dry {
            let path = cx.view.path(&format!("{name}.rej"))?;
            cx.view.write(&path, rejects_of(file, &failed), writing(cx)).await?;
        }
    }
    if dry {
        return Ok(());
    }
    write(cx, options, name, file, (old, new), done).await
}

/// Whether the file has these changes already.
fn fits_reversed(lines: &[&[u8]], file: &FilePatch) -> bool {
    let reversed = file.clone().reversed();
    let (_, fits) = apply::apply(lines, &reversed.hunks);
    fits.iter().all(|fit| matches!(fit, Fit::At { fuzz: 0, .. }))
}

/// Says what is remarkable about the hunks; answers those that failed.
fn tell(fits: &[Fit], quiet: bool, done: &mut Done) -> Vec<usize> {
    let mut failed = Vec::new();
    for (at, fit) in fits.iter().enumerate() {
        let number = at + 1;
        match *fit {
            Fit::Nowhere { line } => {
                failed.push(at);
                if line > 0 {
                    done.print(format!("Hunk #{number} FAILED at {line}.\n"));
                }
            }
            Fit::At { offset: 0, fuzz: 0, .. } => {}
            Fit::At { line, offset, fuzz } if !quiet => {
                let fuzzy = if fuzz > 0 { format!(" with fuzz {fuzz}") } else { String::new() };
                let lines = if offset.abs() == 1 { "line" } else { "lines" };
                let moved = if offset == 0 { String::new() } else { format!(" (offset {offset} {lines})") };
                done.print(format!("Hunk #{number} succeeded at {line}{fuzzy}{moved}.\n"));
            }
            Fit::At { .. } => {}
        }
    }
    failed
}

fn rejects_of(file: &FilePatch, failed: &[usize]) -> Vec<u8> {
    let mut out = format!("--- {}\n+++ {}\n", file.old, file.new).into_bytes();
    for hunk in failed.iter().filter_map(|at| file.hunks.get(*at)) {
        out.extend_from_slice(format!("{}\n", hunk.header).as_bytes());
        for line in &hunk.lines {
            let (mark, text) = match line {
                Line::Stay(text) => (b' ', text),
                Line::Go(text) => (b'-', text),
                Line::Come(text) => (b'+', text),
            };
            out.push(mark);
            out.extend_from_slice(text);
            if !text.ends_with(b"\n") {
                out.extend_from_slice(b"\n\\ No newline at end of file\n");
            }
        }
    }
    out
}

async fn write(
    cx: &Cx<'_>,
    options: &Options,
    name: &str,
    file: &FilePatch,
    (old, new): (Vec<u8>, Vec<u8>),
    done: &mut Done,
) -> Result<(), Fault> {
    if options.value("output") == Some("-") {
        done.print(new);
        return Ok(());
    }
    let path = cx.view.path(options.value("output").unwrap_or(name))?;
    if options.has("backup") {
        cx.view.write(&cx.view.path(&format!("{name}.orig"))?, old.clone(), writing(cx)).await?;
    }
    let gone = new.is_empty() && (file.new == "/dev/null" || options.has("remove-empty-files"));
    if gone && options.value("output").is_none() {
        return cx.view.remove(&path, false).await;
    }
    if new != old || options.value("output").is_some() {
        cx.view.write(&path, new, Writing { parents: true, ..writing(cx) }).await?;
    }
    Ok(())
}

/// The file that a patch is for: the one that was named, else the one of its names that is there.
async fn target(cx: &Cx<'_>, options: &Options, strip: Option<usize>, file: &FilePatch) -> Option<String> {
    if let Some(name) = options.operands.first() {
        return Some(name.clone());
    }
    let safe = |name: &String| {
        !name.is_empty() && !name.starts_with('/') && name.split('/').all(|part| part != "..")
    };
    let names: Vec<String> = [&file.old, &file.new]
        .into_iter()
        .filter(|name| *name != "/dev/null")
        .filter_map(|name| stripped(name, strip))
        .filter(safe)
        .collect();
    for name in &names {
        let path = cx.view.path(name).ok()?;
        if cx.view.stat(&path, Follow::Yes).await.is_ok() {
            return Some(name.clone());
        }
    }
    // A file that the patch makes is not there yet.
    let makes = file.old == "/dev/null" || file.hunks.first().is_some_and(|hunk| hunk.start == 0);
    names.into_iter().next_back().filter(|_| makes)
}

/// A name without so many directories; only its last part when nothing was said.
fn stripped(name: &str, strip: Option<usize>) -> Option<String> {
    match strip {
        None => name.rsplit('/').next().map(str::to_string),
        Some(0) => Some(name.to_string()),
        Some(count) => name.splitn(count + 1, '/').nth(count).map(str::to_string),
    }
}

#[cfg(test)]
mod tests;
