//! Archive reader: members out of an archive, and what is in one.

use std::collections::HashSet;
use std::io::{Chain, Cursor, ErrorKind, Read};

use base::limits;
use flate2::read::MultiGzDecoder;
use vfs::{Code, Fault, Follow, VPath, View};

use super::members::{Member, MemberKind, Reader};
use super::{FATAL, Job, fatal};
use crate::commands::masks::umask;
use crate::commands::operand_path::{Missing, canonical, path_of};
use crate::commands::patterns::matches;
use crate::commands::sink::{Sink, Source, piped, source};
use crate::commands::{Done, modes, times, words};

pub(super) async fn run(job: &Job<'_>, lists: bool) -> Done {
    let reader = match open(job).await {
        Ok(reader) => reader,
        Err(why) => return fatal(job.cx, why),
    };
    let root = match canonical(&job.into, ".", Missing::Nothing).await {
        Ok(root) => root,
        Err(fault) => return fatal(job.cx, words(&fault)),
    };
    let mut unpacker = Unpacker {
        job,
        view: &job.into,
        reader,
        root,
        met: HashSet::new(),
        safe: HashSet::new(),
        directories: Vec::new(),
        has_said: false,
        done: Done::default(),
    };
    let ended = unpacker.all(lists).await;
    unpacker.apply_directory_metadata().await;
    if let Err(why) = ended {
        unpacker.done.complain(job.cx.name, why, FATAL);
        unpacker.done.complain(job.cx.name, "Error is not recoverable: exiting now", FATAL);
        return unpacker.done;
    }
    for (at, wanted) in job.wanted.iter().enumerate() {
        if !unpacker.met.contains(&at) {
            unpacker.complain(format!("{}: Not found in archive", wanted.name));
        }
    }
    unpacker.done
}

/// Opens the archive; whether it is compressed is seen in its first two bytes.
async fn open(job: &Job<'_>) -> Result<Reader, String> {
    let mut from = match job.archive.as_str() {
        "-" => piped(job.cx.stdin),
        name => {
            let cannot = |fault: Fault| format!("{name}: Cannot open: {}", words(&fault));
            let path = path_of(job.cx.view, name).await.map_err(cannot)?;
            source(job.cx.view, &path).await.map_err(cannot)?.0
        }
    };
    let mut magic = Vec::new();
    from.by_ref().take(2).read_to_end(&mut magic).map_err(|error| error.to_string())?;
    let is_zipped = magic == [0x1f, 0x8b];
    let whole: Chain<Cursor<Vec<u8>>, Source> = Cursor::new(magic).chain(from);
    Ok(Reader::new(if is_zipped { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) }))
}

struct Unpacker<'a> {
    job: &'a Job<'a>,
    /// The tree from where members are put.
    view: &'a View,
    reader: Reader,
    /// That directory, without links.
    root: VPath,
    /// Which of the wanted names were there.
    met: HashSet<usize>,
    /// Directories known not to lead out.
    safe: HashSet<VPath>,
    /// Directories made, whose mode and time come last.
    directories: Vec<(VPath, Member)>,
    has_said: bool,
    done: Done,
}

impl Unpacker<'_> {
    fn complain(&mut self, why: String) {
        self.done.complain(self.job.cx.name, why, FATAL);
    }

    async fn all(&mut self, lists: bool) -> Result<(), String> {
        let said = |error: std::io::Error| match error.kind() {
            ErrorKind::InvalidInput => "This does not look like a tar archive".to_string(),
            _ => error.to_string(),
        };
        while let Some(member) = self.reader.next().await.map_err(said)? {
            tokio::task::yield_now().await;
            if !self.is_wanted(&member.name) || self.job.is_excluded(&member.name) {
                continue;
            }
            if lists {
                self.list(&member);
                continue;
            }
            if self.job.verbose() {
                let line = format!("{}\n", member.name);
                match self.job.options.has("to-stdout") {
                    true => self.done.stderr.extend_from_slice(line.as_bytes()),
                    false => self.done.print(line),
                }
            }
            if self.job.options.has("to-stdout") {
                self.print(&member).await?;
            } else if let Err(why) = self.one(member).await {
                self.complain(why);
            }
        }
        Ok(())
    }

    fn is_wanted(&mut self, name: &str) -> bool {
        if self.job.wanted.is_empty() {
            return true;
        }
        let name = name.trim_end_matches('/');
        let globs = self.job.options.has("wildcards");
        let mut is_wanted = false;
        for (at, wanted) in self.job.wanted.iter().enumerate() {
            let wanted = wanted.name.trim_end_matches('/');
            let mut heads = name.match_indices('/').map(|(at, _)| &name[..at]).chain([name]);
            if heads.any(|head| head == wanted || (globs && matches(wanted, head))) {
                self.met.insert(at);
                is_wanted = true;
            }
        }
        is_wanted
    }

    fn list(&mut self, member: &Member) {
        if !self.job.verbose() {
            return self.done.print(format!("{}\n", member.name));
        }
        let kind = match member.kind {
            MemberKind::Directory => vfs::FileKind::Directory,
            MemberKind::Link => vfs::FileKind::Link,
            MemberKind::File | MemberKind::Same | MemberKind::Other => vfs::FileKind::File,
        };
        let mode = modes::text(&vfs::Stat {
            kind,
            size: member.size,
            mode: member.mode,
            uid: protocol::ids::Uid(0),
            gid: protocol::ids::Gid(0),
            modified_ms: 0,
        });
        let or = |name: &String, number: u64| if name.is_empty() { number.to_string() } else { name.clone() };
        let numeric = self.job.options.has("numeric-owner");
        let (user, group) = match numeric {
            true => (member.uid.to_string(), member.gid.to_string()),
            false => (or(&member.user, member.uid), or(&member.group, member.gid)),
        };
        let time =
            times::print("%Y-%m-%d %H:%M", member.modified_s.saturating_mul(1000), &times::zone(self.job.cx));
        let width = 19_usize.saturating_sub(user.len() + group.len() + 2);
        let leads = match member.kind {
            MemberKind::Link => format!(" -> {}", member.target),
            MemberKind::Same => format!(" link to {}", member.target),
            _ => String::new(),
        };
        let (size, name) = (member.size, &member.name);
        self.done.print(format!("{mode} {user}/{group} {size:>width$} {time} {name}{leads}\n"));
    }

    async fn print(&mut self, member: &Member) -> Result<(), String> {
        let mut sink = Sink::stdout(self.view);
        self.pour(&mut sink, member).await?;
        let bytes = sink.finish().await.map_err(|fault| words(&fault).to_string())?;
        if self.done.stdout.len() + bytes.len() > limits::native_shell::STREAM_MAX_BYTES {
            return Err(Code::TooLarge.shell_words().to_string());
        }
        self.done.print(bytes);
        Ok(())
    }

    async fn pour(&mut self, sink: &mut Sink<'_>, member: &Member) -> Result<(), String> {
        let mut buffer = vec![0; limits::files::COPY_BYTES];
        loop {
            match self.reader.read(&mut buffer).map_err(|error| error.to_string())? {
                0 => return Ok(()),
                length => sink
                    .put(&buffer[..length])
                    .await
                    .map_err(|fault| format!("{}: Cannot write: {}", member.name, words(&fault)))?,
            }
        }
    }

    /// Takes one member out.
    async fn one(&mut self, member: Member) -> Result<(), String> {
        let Some(path) = self.goal(&member.name)? else { return Ok(()) };
        let cannot = |fault: Fault| format!("{}: Cannot open: {}", member.name, words(&fault));
        self.parents(&path, &member.name).await?;
        let is = match self.view.stat(&path, Follow::No).await {
            Ok(stat) => Some(stat.kind),
            Err(fault) if fault.code == Code::NotFound => None,
            Err(fault) => return Err(cannot(fault)),
        };
        match (member.kind, is) {
            (MemberKind::Directory, Some(vfs::FileKind::Directory)) => {
                self.directories.push((path, member));
                return Ok(());
            }
            (MemberKind::Other, _) => {
                return Err(format!("{}: Not a file, directory or link; left out", member.name));
            }
            (_, Some(_)) if self.job.options.has("skip-old-files") => return Ok(()),
            (_, Some(_)) if self.job.options.has("keep-old-files") => {
                return Err(format!("{}: Cannot open: File exists", member.name));
            }
            // An empty directory gives way; a link is replaced, never written through.
            (_, Some(_)) => self.view.remove(&path, false).await.map_err(cannot)?,
            _ => {}
        }
        self.make(path, member).await
    }

    async fn make(&mut self, path: VPath, member: Member) -> Result<(), String> {
        let cannot = |fault: Fault| format!("{}: Cannot open: {}", member.name, words(&fault));
        let mode = self.mode(&member);
        match member.kind {
            MemberKind::Directory => {
                self.view.mkdir(&path, false, mode | 0o700).await.map_err(cannot)?;
                self.directories.push((path, member));
                return Ok(());
            }
            MemberKind::Link => {
                // What is below may be another place now.
                self.safe.clear();
                return self.view.symlink(&member.target, &path).await.map_err(cannot);
            }
            MemberKind::Same => {
                let goal = self.goal(&member.target)?;
                let from = goal.ok_or_else(|| format!("{}: Cannot link to nothing", member.name))?;
                self.parents(&from, &member.target).await?;
                let stat = self.view.stat(&from, Follow::No).await.map_err(cannot)?;
                if stat.kind != vfs::FileKind::File {
                    return Err(format!("{}: Cannot link to what is not a file", member.name));
                }
                self.view.copy(&from, &path).await.map_err(cannot)?;
                return self.view.chmod(&path, stat.mode).await.map_err(cannot);
            }
            MemberKind::File | MemberKind::Other => {
                let mut sink = Sink::file(self.view, path.clone(), mode);
                if let Err(why) = self.pour(&mut sink, &member).await {
                    sink.give_up().await.map_err(cannot)?;
                    return Err(why);
                }
                sink.finish().await.map_err(cannot)?;
            }
        }
        self.view.chmod(&path, mode).await.map_err(cannot)?;
        self.time(&path, &member).await
    }

    fn mode(&self, member: &Member) -> u32 {
        let is_root = self.view.who().uid.is_root() && !self.job.options.has("no-same-permissions");
        let whole = is_root
            || self.job.options.has("preserve-permissions")
            || self.job.options.has("same-permissions");
        if whole { member.mode & 0o7777 } else { member.mode & 0o777 & !umask(self.job.cx) }
    }

    async fn time(&self, path: &VPath, member: &Member) -> Result<(), String> {
        if self.job.options.has("touch") {
            return Ok(());
        }
        let set = self.view.set_modified(path, member.modified_s.saturating_mul(1000)).await;
        set.map_err(|fault| format!("{}: Cannot utime: {}", member.name, words(&fault)))
    }

    /// Where a member goes: always below the root. None when nothing of its name is left.
    fn goal(&mut self, name: &str) -> Result<Option<VPath>, String> {
        if name.starts_with('/') && !self.has_said {
            self.has_said = true;
            let line = format!("{}: Removing leading `/' from member names\n", self.job.cx.name);
            self.done.stderr.extend_from_slice(line.as_bytes());
        }
        let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.contains(&"..") {
            return Err(format!("{name}: Member name contains '..'"));
        }
        let parts = parts.get(self.job.strip..).unwrap_or_default();
        if parts.is_empty() {
            return Ok(None);
        }
        let text = parts.iter().fold(self.root.to_string(), |path, part| format!("{path}/{part}"));
        let path =
            VPath::absolute(&text).map_err(|fault| format!("{name}: Cannot open: {}", words(&fault)))?;
        Ok(Some(path))
    }

    /// Makes the directories on the way, and refuses a way that leads out of the root.
    async fn parents(&mut self, path: &VPath, name: &str) -> Result<(), String> {
        let Some(parent) = path.parent().filter(|parent| *parent != self.root) else { return Ok(()) };
        if self.safe.contains(&parent) {
            return Ok(());
        }
        let cannot = |fault: Fault| format!("{name}: Cannot open: {}", words(&fault));
        let below = parent.as_str()[self.root.as_str().len()..].trim_start_matches('/').to_string();
        let mut at = self.root.clone();
        for part in below.split('/') {
            at = at.join(part);
            match self.view.stat(&at, Follow::No).await {
                Ok(stat) if stat.kind == vfs::FileKind::Link => {
                    let leads = canonical(self.view, at.as_str(), Missing::Nothing).await.map_err(cannot)?;
                    if !leads.is_within(&self.root) {
                        return Err(format!(
                            "{name}: Cannot open: the link '{part}' leads out of the directory"
                        ));
                    }
                }
                Ok(_) => {}
                Err(fault) if fault.code == Code::NotFound => {
                    let mode = 0o777 & !umask(self.job.cx);
                    self.view.mkdir(&at, false, mode | 0o700).await.map_err(cannot)?;
                }
                Err(fault) => return Err(cannot(fault)),
            }
        }
        self.safe.insert(parent);
        Ok(())
    }

    /// Modes and times of directories, the deepest first.
    async fn apply_directory_metadata(&mut self) {
        for (path, member) in std::mem::take(&mut self.directories).into_iter().rev() {
            // A later member may have taken its place.
            if canonical(self.view, path.as_str(), Missing::Nothing).await.as_ref() != Ok(&path) {
                continue;
            }
            let mode = self.mode(&member);
            if let Err(fault) = self.view.chmod(&path, mode).await {
                self.complain(format!("{}: Cannot change mode: {}", member.name, words(&fault)));
            } else if let Err(why) = self.time(&path, &member).await {
                self.complain(why);
            }
        }
    }
}
