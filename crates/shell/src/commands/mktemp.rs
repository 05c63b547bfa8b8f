//! `mktemp`: files and directories nobody else has, and that nobody else may look into.

use base::random;
use vfs::view::Writing;
use vfs::{Code, Fault, Follow};

use super::operand_path::path_of;
use super::options::{Opt, Options, flag, valued};
use super::walk::beside;
use super::{Command, Cx, Done, words};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "mktemp",
    aliases: &[],
    about: "make a temporary file or directory and print its name",
    usage: "[-dqtu] [-p DIRECTORY] [--tmpdir[=DIRECTORY]] [--suffix TEXT] [TEMPLATE]",
    manual: "\
The last run of at least three X in TEMPLATE becomes random letters; without one it is tmp.XXXXXXXXXX in
$TMPDIR or /tmp. Files get the mode 600, directories 700.
  -d  a directory     -u  make nothing, only print a name     -q  do not say why it failed
  -p  in this directory                                       -t  in $TMPDIR or /tmp",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

const KNOWN: &[Opt] = &[
    flag('d', "directory"),
    flag('u', "dry-run"),
    flag('q', "quiet"),
    flag('t', "temporary"),
    valued('p', "tmpdir"),
    valued('\0', "suffix"),
];

const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const X_MIN: usize = 3;
/// So many names are tried.
const TRIES: usize = 100;

async fn run(cx: &Cx<'_>) -> Done {
    // The directory of `--tmpdir` may be left out.
    let bare = |word: &String| if word == "--tmpdir" { "--tmpdir=".to_string() } else { word.clone() };
    let args: Vec<String> = cx.args.iter().map(bare).collect();
    let cx = &Cx { args: &args, ..*cx };
    let options = match Options::parse(cx, &COMMAND, KNOWN, 1) {
        Ok(options) => options,
        Err(done) => return done,
    };
    let mut done = match template(cx, &options) {
        Ok(template) => make(cx, &template, &options).await,
        Err(why) => cx.misused(why),
    };
    if options.has("quiet") {
        done.stderr.clear();
    }
    done
}

/// A name with a hole: what goes before, how many random letters, what goes after.
struct Template {
    before: String,
    letters: usize,
    after: String,
}

impl Template {
    fn display(&self) -> String {
        format!("{}{}{}", self.before, "X".repeat(self.letters), self.after)
    }

    fn fill(&self) -> String {
        let letter = |_| char::from(LETTERS[random::below(LETTERS.len() as u64) as usize]);
        let letters: String = (0..self.letters).map(letter).collect();
        format!("{}{letters}{}", self.before, self.after)
    }
}

fn template(cx: &Cx<'_>, options: &Options) -> Result<Template, String> {
    let usual = || cx.env.get("TMPDIR").filter(|text| !text.is_empty()).map_or("/tmp", String::as_str);
    let (text, mut directory) = match options.operands.as_slice() {
        [] => ("tmp.XXXXXXXXXX", Some(usual())),
        [text] => (text.as_str(), None),
        _ => return Err("too many templates".to_string()),
    };
    if options.has("temporary") {
        directory = Some(usual());
    }
    if let Some(named) = options.value("tmpdir") {
        directory = Some(if named.is_empty() { usual() } else { named });
    }
    if directory.is_some() && text.starts_with('/') {
        return Err(format!("invalid template, '{text}'; with --tmpdir, it may not be absolute"));
    }
    let (head, after) = match options.value("suffix") {
        Some(suffix) if suffix.contains('/') => {
            return Err(format!("invalid suffix '{suffix}', contains directory separator"));
        }
        Some(_) if !text.ends_with('X') => {
            return Err(format!("with --suffix, template '{text}' must end in X"));
        }
        Some(suffix) => (text, suffix.to_string()),
        None => {
            let end = text.rfind('X').map_or(0, |at| at + 1);
            (&text[..end], text[end..].to_string())
        }
    };
    let before = head.trim_end_matches('X');
    let letters = head.len() - before.len();
    if letters < X_MIN || after.contains('/') {
        return Err(format!("too few X's in template '{text}'"));
    }
    let before = directory.map_or_else(|| before.to_string(), |directory| beside(directory, before));
    Ok(Template { before, letters, after })
}

async fn make(cx: &Cx<'_>, template: &Template, options: &Options) -> Done {
    let is_directory = options.has("directory");
    let mut last = Fault::new(Code::Exists, "open", template.display());
    for _ in 0..TRIES {
        let name = template.fill();
        let made = match options.has("dry-run") {
            true => free(cx, &name).await,
            false => create(cx, &name, is_directory).await,
        };
        match made {
            Ok(()) => return Done::printed(format!("{name}\n")),
            Err(fault) if fault.code == Code::Exists => last = fault,
            Err(fault) => {
                last = fault;
                break;
            }
        }
    }
    let kind = if is_directory { "directory" } else { "file" };
    cx.misused(format!("failed to create {kind} via template '{}': {}", template.display(), words(&last)))
}

async fn create(cx: &Cx<'_>, name: &str, is_directory: bool) -> Result<(), Fault> {
    let path = path_of(cx.view, name).await?;
    if is_directory {
        return cx.view.mkdir(&path, false, 0o700).await;
    }
    let how = Writing { mode: 0o600, exclusive: true, ..Writing::default() };
    cx.view.write(&path, Vec::new(), how).await.map(drop)
}

async fn free(cx: &Cx<'_>, name: &str) -> Result<(), Fault> {
    match cx.view.stat(&path_of(cx.view, name).await?, Follow::No).await {
        Ok(_) => Err(Fault::new(Code::Exists, "open", name)),
        Err(fault) if fault.code == Code::NotFound => Ok(()),
        Err(fault) => Err(fault),
    }
}
