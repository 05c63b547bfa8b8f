//! `tar`: archives. What is taken out of one stays below the directory it is put into, whatever the archive says.

mod members;
mod pack;
mod unpack;

use vfs::{Fault, View};

use super::operand_path::path_of;
use super::options::{Opt, Options, flag, valued};
use super::patterns::matches;
use super::{Command, Cx, Done, words};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "tar",
    aliases: &[],
    about: "put files into archives and take them out again",
    usage: "c|x|t|r|u [-zvhkmOP] [-f ARCHIVE] [-C DIRECTORY] [--exclude PATTERN] [FILE...]",
    manual: "\
  c  make an archive            x  take files out            t  list what is in it
  r  add to an archive          u  add what is newer
  -f ARCHIVE   - is what is piped in, or what is printed
  -z  compressed with gzip; found out by itself when reading      -a  as the name of the archive says
  -C  do it in this directory     -v  say what is done             -h  follow links
  -O  print instead of writing    -k  never replace                -m  do not keep times
  -T FILE  names from a file      -X FILE  patterns from a file    --strip-components N   --wildcards
Members whose names are absolute or have .. in them are made relative or left out.",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

const KNOWN: &[Opt] = &[
    flag('c', "create"),
    flag('x', "extract"),
    flag('\0', "get"),
    flag('t', "list"),
    flag('r', "append"),
    flag('u', "update"),
    flag('z', "gzip"),
    flag('\0', "gunzip"),
    flag('a', "auto-compress"),
    flag('v', "verbose"),
    flag('h', "dereference"),
    flag('k', "keep-old-files"),
    flag('\0', "skip-old-files"),
    flag('\0', "overwrite"),
    flag('U', "unlink-first"),
    flag('m', "touch"),
    flag('O', "to-stdout"),
    flag('P', "absolute-names"),
    flag('p', "preserve-permissions"),
    flag('\0', "same-permissions"),
    flag('\0', "no-same-permissions"),
    flag('\0', "same-owner"),
    flag('o', "no-same-owner"),
    flag('\0', "numeric-owner"),
    flag('\0', "no-recursion"),
    flag('\0', "wildcards"),
    flag('\0', "no-wildcards"),
    flag('\0', "remove-files"),
    flag('\0', "null"),
    flag('S', "sparse"),
    flag('\0', "exclude-vcs"),
    flag('j', "bzip2"),
    flag('J', "xz"),
    flag('\0', "zstd"),
    valued('f', "file"),
    valued('C', "directory"),
    valued('T', "files-from"),
    valued('X', "exclude-from"),
    valued('b', "blocking-factor"),
    valued('\0', "exclude"),
    valued('\0', "strip-components"),
    valued('\0', "owner"),
    valued('\0', "group"),
    valued('\0', "mode"),
    valued('\0', "sort"),
    valued('\0', "format"),
];

/// What versions of a program keep for themselves.
const VERSIONED: &[&str] = &[".git", ".gitignore", ".gitattributes", ".gitmodules", ".svn", ".hg", "CVS"];

/// Something failed that ends it.
const FATAL: i32 = 2;

async fn run(cx: &Cx<'_>) -> Done {
    let args = modern(cx.args);
    let cx = &Cx { args: &args, ..*cx };
    let options = match Options::parse(cx, &COMMAND, KNOWN, FATAL) {
        Ok(options) => options,
        Err(done) => return done,
    };
    for name in ["bzip2", "xz", "zstd"] {
        if options.has(name) {
            return Done::failed(cx.name, format!("--{name} is not known here, only --gzip"), FATAL);
        }
    }
    let works = options.given().filter_map(|(name, _)| match name {
        "get" => Some("extract"),
        "create" | "extract" | "list" | "append" | "update" => Some(name),
        _ => None,
    });
    let works: Vec<&str> = works.collect();
    let work = match works.as_slice() {
        [work] => *work,
        [] => return Done::failed(cx.name, "You must specify one of the '-cxtru' options", FATAL),
        _ => return Done::failed(cx.name, "You may not specify more than one '-cxtru' option", FATAL),
    };
    let job = match Job::read(cx, &options).await {
        Ok(job) => job,
        Err(why) => return fatal(cx, why),
    };
    let mut done = match work {
        "extract" | "list" => unpack::run(&job, work == "list").await,
        work => pack::run(&job, work).await,
    };
    if done.code != 0 && !done.stderr.ends_with(b"exiting now\n") {
        done.complain(cx.name, "Exiting with failure status due to previous errors", FATAL);
    }
    done
}

/// It ends here.
fn fatal(cx: &Cx<'_>, why: impl std::fmt::Display) -> Done {
    let mut done = Done::failed(cx.name, why, FATAL);
    done.complain(cx.name, "Error is not recoverable: exiting now", FATAL);
    done
}

/// `tar xzf a.tgz` means `tar -x -z -f a.tgz`: values follow in the order of their letters.
fn modern(args: &[String]) -> Vec<String> {
    let Some((letters, rest)) = args.split_first().filter(|(first, _)| !first.starts_with('-')) else {
        return args.to_vec();
    };
    let (mut words, mut rest) = (Vec::new(), rest.iter());
    for letter in letters.chars() {
        words.push(format!("-{letter}"));
        if KNOWN.iter().any(|opt| opt.short == letter && opt.value) {
            words.extend(rest.next().cloned());
        }
    }
    words.extend(rest.cloned());
    words
}

/// A name that was given, and the directory it is meant in.
struct Wanted {
    view: View,
    name: String,
}

/// What it is told to do.
struct Job<'a> {
    cx: &'a Cx<'a>,
    options: &'a Options,
    archive: String,
    wanted: Vec<Wanted>,
    excluded: Vec<String>,
    /// Where members are put.
    into: View,
    strip: usize,
}

impl<'a> Job<'a> {
    async fn read(cx: &'a Cx<'a>, options: &'a Options) -> Result<Job<'a>, String> {
        let strip = options.number("strip-components")?.unwrap_or(0);
        let mut job = Job {
            cx,
            options,
            archive: options.value("file").unwrap_or("-").to_string(),
            wanted: Vec::new(),
            excluded: options.values("exclude").map(str::to_string).collect(),
            into: cx.view.clone(),
            strip: usize::try_from(strip).unwrap_or(usize::MAX),
        };
        for (before, operand) in options.operands_in_order() {
            let directories = before.iter().filter(|(name, _)| *name == "directory");
            let view = enter(cx.view, directories.map(|(_, value)| value.as_str())).await?;
            job.wanted.push(Wanted { view, name: operand.to_string() });
        }
        job.into = enter(cx.view, options.values("directory")).await?;
        for file in options.values("files-from") {
            for name in lines(cx, file, options.has("null")).await? {
                job.wanted.push(Wanted { view: job.into.clone(), name });
            }
        }
        for file in options.values("exclude-from") {
            job.excluded.extend(lines(cx, file, false).await?);
        }
        if options.has("exclude-vcs") {
            job.excluded.extend(VERSIONED.iter().map(ToString::to_string));
        }
        Ok(job)
    }

    /// Whether a member is left out: a pattern fits its name, or the end of it, or that of a directory it is in.
    fn is_excluded(&self, name: &str) -> bool {
        let name = name.trim_end_matches('/');
        self.excluded.iter().map(|pattern| pattern.trim_end_matches('/')).any(|pattern| {
            let heads = name.match_indices('/').map(|(at, _)| &name[..at]).chain([name]);
            heads.into_iter().any(|head| {
                let tails = head.match_indices('/').map(|(at, _)| &head[at + 1..]);
                std::iter::once(head).chain(tails).any(|tail| matches(pattern, tail))
            })
        })
    }

    fn verbose(&self) -> bool {
        self.options.has("verbose")
    }
}

/// The tree from these directories, each meant from the one before.
async fn enter<'a>(view: &View, directories: impl Iterator<Item = &'a str>) -> Result<View, String> {
    let mut view = view.clone();
    for directory in directories {
        let cannot = |fault: Fault| format!("{directory}: Cannot open: {}", words(&fault));
        let path = path_of(&view, directory).await.map_err(cannot)?;
        let stat = view.stat(&path, vfs::Follow::Yes).await.map_err(cannot)?;
        if stat.kind != vfs::FileKind::Directory {
            return Err(cannot(Fault::new(vfs::Code::NotDirectory, "open", directory)));
        }
        view = view.at(path.as_str());
    }
    Ok(view)
}

async fn lines(cx: &Cx<'_>, file: &str, is_null: bool) -> Result<Vec<String>, String> {
    let bytes = match file {
        "-" => cx.stdin.to_vec(),
        file => {
            let cannot = |fault: Fault| format!("{file}: Cannot open: {}", words(&fault));
            let path = path_of(cx.view, file).await.map_err(cannot)?;
            cx.view.read(&path).await.map_err(cannot)?
        }
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let end = if is_null { '\0' } else { '\n' };
    Ok(text.split(end).filter(|line| !line.is_empty()).map(str::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::modern;

    #[test]
    fn letters_without_a_dash_take_their_values_in_order() {
        let words = |line: &str| modern(&line.split(' ').map(str::to_string).collect::<Vec<_>>()).join(" ");
        assert_eq!(words("xzf a.tgz -C x"), "-x -z -f a.tgz -C x");
        assert_eq!(words("cfC a.tar d y"), "-c -f a.tar -C d y");
        assert_eq!(words("-xzf a.tgz"), "-xzf a.tgz");
    }
}
