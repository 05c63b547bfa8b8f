//! `realpath`: canonical paths, without links, `.` and `..`.

use vfs::{Code, Fault, Follow, VPath};

use super::operand_path::{Missing, canonical, literal, relative};
use super::options::{Opt, Options, flag, valued};
use super::{Command, Cx, Done, words};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "realpath",
    aliases: &[],
    about: "print paths without links and detours",
    usage: "[-emqsz] [--relative-to=DIRECTORY] [--relative-base=DIRECTORY] FILE...",
    manual: "\
All parts but the last must be there.
  -e  all parts must be there     -m  no part need be there      -s  leave links as they are
  -q  do not say why it failed    -z  end with NUL instead of a line break
  --relative-to     how to get there from that directory
  --relative-base   the same, for paths below that directory only",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

const KNOWN: &[Opt] = &[
    flag('e', "canonicalize-existing"),
    flag('m', "canonicalize-missing"),
    flag('s', "strip"),
    flag('\0', "no-symlinks"),
    flag('L', "logical"),
    flag('P', "physical"),
    flag('q', "quiet"),
    flag('z', "zero"),
    valued('\0', "relative-to"),
    valued('\0', "relative-base"),
];

async fn run(cx: &Cx<'_>) -> Done {
    let options = match Options::parse(cx, &COMMAND, KNOWN, 1) {
        Ok(options) => options,
        Err(done) => return done,
    };
    if options.operands.is_empty() {
        return cx.misused("missing operand");
    }
    let (mut to, mut base) = (None, None);
    for (name, place) in [("relative-to", &mut to), ("relative-base", &mut base)] {
        let Some(text) = options.value(name) else { continue };
        match resolve(cx, text, &options).await {
            Ok(path) => *place = Some(path),
            Err(fault) => return cx.misused(format!("{text}: {}", words(&fault))),
        }
    }
    // Outside the base nothing is relative, a start that is outside included.
    let outside = |path: &VPath| base.as_ref().is_some_and(|base| !path.is_within(base));
    let start = to.or_else(|| base.clone()).filter(|start| !outside(start));
    let end = if options.has("zero") { "\0" } else { "\n" };
    let mut done = Done::default();
    for operand in &options.operands {
        match resolve(cx, operand, &options).await {
            Ok(path) => done.print(match &start {
                Some(start) if !outside(&path) => format!("{}{end}", relative(start, &path)),
                _ => format!("{path}{end}"),
            }),
            Err(_) if options.has("quiet") => done.code = 1,
            Err(fault) => done.complain(cx.name, format!("{operand}: {}", words(&fault)), 1),
        }
    }
    done
}

async fn resolve(cx: &Cx<'_>, operand: &str, options: &Options) -> Result<VPath, Fault> {
    let missing = options.given().filter_map(|(name, _)| match name {
        "canonicalize-existing" => Some(Missing::Nothing),
        "canonicalize-missing" => Some(Missing::Any),
        _ => None,
    });
    let missing = missing.last().unwrap_or(Missing::Last);
    let by_text = ["strip", "no-symlinks", "logical"].iter().any(|name| options.has(name));
    if !by_text {
        return canonical(cx.view, operand, missing).await;
    }
    if operand.is_empty() {
        return Err(Fault::new(Code::NotFound, "realpath", operand));
    }
    let path = literal(cx.view, operand)?;
    let needed = match missing {
        Missing::Nothing => Some(path.clone()),
        Missing::Last => path.parent(),
        Missing::Any => None,
    };
    if let Some(needed) = needed {
        cx.view.stat(&needed, Follow::Yes).await?;
    }
    match options.has("logical") {
        true => canonical(cx.view, path.as_str(), missing).await,
        false => Ok(path),
    }
}
