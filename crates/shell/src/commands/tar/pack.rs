//! Archive writer: files into an archive.

use std::collections::HashMap;
use std::io::{Read, Write};

use base::limits;
use flate2::Compression;
use flate2::write::GzEncoder;
use vfs::{Code, Fault, Follow, VPath};

use super::members::{BLOCK, Member, MemberKind, RECORD, Reader};
use super::{FATAL, Job, Wanted, fatal};
use crate::commands::accounts::Accounts;
use crate::commands::operand_path::path_of;
use crate::commands::sink::{Sink, Source, source};
use crate::commands::walk::walk;
use crate::commands::{Done, words};

pub(super) async fn run(job: &Job<'_>, work: &str) -> Done {
    if job.wanted.is_empty() && work == "create" && !job.options.has("files-from") {
        return Done::failed(job.cx.name, "Cowardly refusing to create an empty archive", FATAL);
    }
    let mut packer = match Packer::begin(job, work).await {
        Ok(packer) => packer,
        Err(why) => return fatal(job.cx, why),
    };
    for wanted in &job.wanted {
        if let Err(why) = packer.add(wanted).await {
            packer.complain(why);
        }
    }
    if let Err(fault) = packer.close().await {
        return fatal(job.cx, format!("{}: Cannot write: {}", job.archive, words(&fault)));
    }
    packer.done
}

struct Packer<'a> {
    job: &'a Job<'a>,
    /// Taken when it is closed.
    sink: Option<Sink<'a>>,
    zipped: Option<GzEncoder<Vec<u8>>>,
    written: u64,
    /// The archive itself is never put into it.
    archive: Option<VPath>,
    accounts: Accounts,
    /// The times of the members that are there already, for `-u`.
    there_s: HashMap<String, i64>,
    has_said: bool,
    done: Done,
}

impl<'a> Packer<'a> {
    async fn begin(job: &'a Job<'a>, work: &str) -> Result<Packer<'a>, String> {
        let view = job.cx.view;
        let cannot = |fault: Fault| format!("{}: Cannot open: {}", job.archive, words(&fault));
        let archive = match job.archive.as_str() {
            "-" => None,
            name => Some(path_of(view, name).await.map_err(cannot)?),
        };
        let by_name = job.archive.ends_with(".gz") || job.archive.ends_with(".tgz");
        let zips = job.options.has("gzip") || (job.options.has("auto-compress") && by_name);
        let mut packer = Packer {
            job,
            sink: None,
            zipped: zips.then(|| GzEncoder::new(Vec::new(), Compression::default())),
            written: 0,
            archive: archive.clone(),
            accounts: Accounts::read(view).await,
            there_s: HashMap::new(),
            has_said: false,
            done: Done::default(),
        };
        let Some(path) = archive else {
            packer.sink = Some(Sink::stdout(view));
            return Ok(packer);
        };
        let mode = 0o666 & !crate::commands::masks::umask(job.cx);
        packer.sink = Some(Sink::file(view, path.clone(), mode));
        if work == "create" {
            // It is there from the beginning, as one sees with `tar cf d/a.tar d`.
            packer.flush().await.map_err(cannot)?;
            return Ok(packer);
        }
        if zips {
            return Err("Cannot update compressed archives".to_string());
        }
        packer.keep(&path, work).await?;
        Ok(packer)
    }

    async fn flush(&mut self) -> Result<(), Fault> {
        match &mut self.sink {
            Some(sink) => sink.flush().await,
            None => Ok(()),
        }
    }

    /// Copies what is in the archive already.
    async fn keep(&mut self, path: &VPath, work: &str) -> Result<(), String> {
        let (view, name) = (self.job.cx.view, &self.job.archive);
        let cannot = |fault: &Fault| format!("{name}: Cannot open: {}", words(fault));
        let from = match source(view, path).await {
            Ok((from, _)) => from,
            Err(fault) if fault.code == Code::NotFound => return Ok(()),
            Err(fault) => return Err(cannot(&fault)),
        };
        let mut reader = Reader::new(from);
        while let Some(member) = reader.next().await.map_err(|error| error.to_string())? {
            if work == "update" {
                self.there_s.insert(member.name.trim_end_matches('/').to_string(), member.modified_s);
            }
            tokio::task::yield_now().await;
        }
        let (again, _) = source(view, path).await.map_err(|fault| cannot(&fault))?;
        self.pour(again.take(reader.end)).await
    }

    fn complain(&mut self, why: String) {
        self.done.complain(self.job.cx.name, why, FATAL);
    }

    /// A file or directory that was named, and everything below it.
    async fn add(&mut self, wanted: &Wanted) -> Result<(), String> {
        let follow = if self.job.options.has("dereference") { Follow::Yes } else { Follow::No };
        let cannot = |fault: Fault| format!("{}: Cannot stat: {}", wanted.name, words(&fault));
        let top = path_of(&wanted.view, &wanted.name).await.map_err(cannot)?;
        let below = !self.job.options.has("no-recursion");
        let (met, unread) = walk(&wanted.view, top.as_str(), below, follow).await.map_err(cannot)?;
        let display = wanted.name.trim_end_matches('/');
        let display = if display.is_empty() { "/" } else { display };
        let mut packed = Vec::new();
        for file in met {
            let rest = file.path.as_str()[top.as_str().len()..].trim_start_matches('/');
            let name = match rest {
                "" => display.to_string(),
                rest => crate::commands::walk::beside(display, rest),
            };
            if self.job.is_excluded(&name) {
                continue;
            }
            if Some(&file.path) == self.archive.as_ref() {
                let why = format!("{}: {name}: file is the archive; not dumped\n", self.job.cx.name);
                self.done.stderr.extend_from_slice(why.as_bytes());
                continue;
            }
            match self.one(wanted, &name, &file.path, file.stat, follow).await {
                Ok(()) => packed.push((file.path, name)),
                Err(why) => self.complain(why),
            }
        }
        for directory in unread {
            let rest = directory.display[top.as_str().len()..].trim_start_matches('/');
            let name = if rest.is_empty() { display.to_string() } else { format!("{display}/{rest}") };
            self.complain(format!("{name}: Cannot open: {}", words(&directory.fault)));
        }
        if self.job.options.has("remove-files") {
            for (path, name) in packed.iter().rev() {
                let gone = wanted.view.remove(path, false).await;
                gone.map_err(|fault| format!("{name}: Cannot unlink: {}", words(&fault)))?;
            }
        }
        Ok(())
    }

    async fn one(
        &mut self,
        wanted: &Wanted,
        name: &str,
        path: &VPath,
        stat: vfs::Stat,
        follow: Follow,
    ) -> Result<(), String> {
        let view = &wanted.view;
        let cannot = |fault: Fault| format!("{name}: Cannot open: {}", words(&fault));
        let stat = match (stat.kind, follow) {
            (vfs::FileKind::Link, Follow::Yes) => view.stat(path, Follow::Yes).await.map_err(cannot)?,
            _ => stat,
        };
        let inside = self.inside(name);
        if inside.is_empty() {
            return Ok(());
        }
        let modified_s = stat.modified_ms.div_euclid(1000);
        if self.there_s.get(&inside).is_some_and(|there_s| *there_s >= modified_s) {
            return Ok(());
        }
        let mut member = Member {
            name: inside,
            kind: MemberKind::File,
            size: 0,
            mode: stat.mode,
            modified_s,
            uid: u64::from(stat.uid.0),
            gid: u64::from(stat.gid.0),
            user: self.accounts.user_name(stat.uid).unwrap_or_default().to_string(),
            group: self.accounts.group_name(stat.gid).unwrap_or_default().to_string(),
            target: String::new(),
        };
        let mut content: Option<Source> = None;
        match stat.kind {
            vfs::FileKind::Directory => member.kind = MemberKind::Directory,
            vfs::FileKind::Link => {
                member.kind = MemberKind::Link;
                member.target = view.read_link(path).await.map_err(cannot)?;
            }
            vfs::FileKind::File => {
                let (from, stat) = source(view, path).await.map_err(cannot)?;
                (content, member.size) = (Some(from), stat.size);
            }
        }
        self.say(name, member.kind);
        let head = member.head().map_err(|error| format!("{name}: {error}"))?;
        self.put(&head).await.map_err(cannot)?;
        if let Some(content) = content {
            self.content(content, member.size, name).await?;
        }
        Ok(())
    }

    /// The name a member gets: never absolute, and nothing above where it is taken out.
    fn inside(&mut self, name: &str) -> String {
        let parts: Vec<&str> = name.split('/').collect();
        let begin = parts.iter().rposition(|part| *part == "..").map_or(0, |at| at + 1);
        let kept = parts[begin..].join("/");
        let kept = kept.trim_start_matches('/');
        if kept.len() < name.len() && !self.has_said {
            self.has_said = true;
            let gone = &name[..name.len() - kept.len()];
            let line = format!("{}: Removing leading `{gone}' from member names\n", self.job.cx.name);
            self.done.stderr.extend_from_slice(line.as_bytes());
        }
        kept.to_string()
    }

    /// Names go where the archive does not.
    fn say(&mut self, name: &str, kind: MemberKind) {
        if !self.job.verbose() {
            return;
        }
        let slash = if kind == MemberKind::Directory && !name.ends_with('/') { "/" } else { "" };
        let line = format!("{name}{slash}\n");
        match self.archive {
            Some(_) => self.done.print(line),
            None => self.done.stderr.extend_from_slice(line.as_bytes()),
        }
    }

    /// A file's content, as long as its head says even when it changes meanwhile.
    async fn content(&mut self, from: Source, size: u64, name: &str) -> Result<(), String> {
        let before = self.written;
        self.pour(from.take(size)).await?;
        let copied = self.written - before;
        let cannot = |fault: Fault| format!("{name}: Cannot write: {}", words(&fault));
        let zeros = vec![0; limits::files::COPY_BYTES];
        let mut missing = size.next_multiple_of(BLOCK as u64) - copied;
        while missing > 0 {
            let length = missing.min(zeros.len() as u64);
            self.put(&zeros[..length as usize]).await.map_err(cannot)?;
            missing -= length;
        }
        if copied < size {
            return Err(format!("{name}: File shrank by {} bytes; padding with zeros", size - copied));
        }
        Ok(())
    }

    async fn pour(&mut self, mut from: impl Read + Send) -> Result<(), String> {
        let mut buffer = vec![0; limits::files::COPY_BYTES];
        loop {
            match from.read(&mut buffer).map_err(|error| error.to_string())? {
                0 => return Ok(()),
                length => {
                    self.put(&buffer[..length]).await.map_err(|fault| words(&fault).to_string())?;
                }
            }
        }
    }

    async fn put(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.written += bytes.len() as u64;
        let Some(sink) = &mut self.sink else { return Ok(()) };
        match &mut self.zipped {
            None => sink.put(bytes).await,
            Some(zipped) => {
                zipped.write_all(bytes).map_err(|error| broken(&error))?;
                let made = std::mem::take(zipped.get_mut());
                sink.put(&made).await
            }
        }
    }

    async fn close(&mut self) -> Result<(), Fault> {
        let whole = (self.written + 2 * BLOCK as u64).next_multiple_of(RECORD);
        let rest = vec![0; usize::try_from(whole - self.written).unwrap_or(BLOCK)];
        self.put(&rest).await?;
        let Some(mut sink) = self.sink.take() else { return Ok(()) };
        if let Some(zipped) = self.zipped.take() {
            sink.put(&zipped.finish().map_err(|error| broken(&error))?).await?;
        }
        let bytes = sink.finish().await?;
        self.done.print(bytes);
        Ok(())
    }
}

fn broken(error: &std::io::Error) -> Fault {
    Fault::new(Code::Io, "write", "").because(error.to_string())
}
