//! Bulkhead around `jq` and `sort`, which hold all they read and count little of it. Each runs in an interpreter of
//! its own with tighter limits, and only some run at once in the whole gateway.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use base::clock::Clock;
use base::limits;
use bashkit::{
    Bash, Builtin, BuiltinContext, DirEntry, ExecOptions, ExecResult, FileSystem, FileSystemExt, Metadata,
};
use protocol::ids::Uid;

use crate::fair_semaphore::FairSemaphore;
use crate::{bounds, depth, jq};

/// The places of such commands, of all users.
static PERMITS: LazyLock<FairSemaphore> = LazyLock::new(|| {
    FairSemaphore::new(limits::native_shell::HEAVY_MAX, limits::native_shell::HEAVY_PER_USER_MAX)
});

/// Which command it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Jq,
    Sort,
}

impl Which {
    pub(crate) const ALL: [Which; 2] = [Which::Jq, Which::Sort];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Which::Jq => "jq",
            Which::Sort => "sort",
        }
    }

    /// What the bytes cost once they are taken apart, about.
    fn cost(self, bytes: &[u8]) -> usize {
        let is_end = |byte: &&u8| match self {
            Which::Jq => matches!(byte, b',' | b':' | b'[' | b'{' | b' ' | b'\n'),
            Which::Sort => matches!(byte, b'\n' | 0),
        };
        let parts = bytes.iter().filter(is_end).count();
        bytes.len().saturating_add(parts.saturating_mul(limits::native_shell::LINE_BYTES))
    }

    fn refused(self) -> ExecResult {
        let most = limits::native_shell::SORT_MAX_BYTES / 1024 / 1024;
        let name = self.name();
        ExecResult::err(format!("{name}: the input takes more than {most} MiB of memory\n"), 2)
    }
}

/// One such command in place of the interpreter's own.
pub(crate) struct Heavy {
    pub(crate) which: Which,
    /// When the script's time is up.
    pub(crate) deadline: Instant,
    /// Whose it is.
    pub(crate) uid: Uid,
}

#[async_trait]
impl Builtin for Heavy {
    async fn execute(&self, ctx: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        let args = match self.which {
            Which::Sort => ctx.args.to_vec(),
            Which::Jq => match with_filter(&ctx).await {
                Ok(args) => counted(args),
                Err(refused) => return Ok(refused),
            },
        };
        if ctx
            .stdin
            .is_some_and(|stdin| self.which.cost(stdin.as_bytes()) > limits::native_shell::SORT_MAX_BYTES)
        {
            return Ok(self.which.refused());
        }
        let Ok(_place) = PERMITS.take(self.uid).await else { return Ok(self.which.refused()) };
        if self.which == Which::Jq
            && JqWords::read(&args).filter.is_some_and(depth::may_nest)
            && let Some(compact) = depth::compact(&args)
        {
            let flat = self.run(&ctx, compact).await?;
            if depth::of(flat.stdout.as_bytes()) > limits::native_shell::JQ_DEPTH_MAX {
                let most = limits::native_shell::JQ_DEPTH_MAX;
                let why = format!("jq: error: the result is nested more than {most} deep; -c prints it\n");
                return Ok(ExecResult::err(why, 5));
            }
            if flat.stdout_truncated {
                return Ok(flat);
            }
        }
        self.run(&ctx, args).await
    }
}

impl Heavy {
    async fn run(&self, ctx: &BuiltinContext<'_>, args: Vec<String>) -> bashkit::Result<ExecResult> {
        let left = AtomicUsize::new(limits::native_shell::SORT_MAX_BYTES);
        let files = Arc::new(Counted { inner: ctx.fs.clone(), which: self.which, left });
        let mut time =
            self.deadline.saturating_duration_since(Clock::system().instant()).max(Duration::from_millis(1));
        if self.which == Which::Jq {
            // Only its own time stops a program that makes no value: whoever ends the script does not reach it.
            time = time.min(jq::time(JqWords::read(&args).filter.unwrap_or_default()));
        }
        let mut options = ExecOptions::new().positional(args);
        if let Some(stdin) = ctx.stdin {
            files.take(stdin.as_bytes()).map_err(bashkit::Error::Io)?;
            options = options.stdin(stdin.clone());
        }
        let mut bounds = bounds::execution(time);
        if self.which == Which::Jq {
            bounds = bounds.max_live_intermediate_bytes(limits::native_shell::JQ_MAX_BYTES);
        }
        let mut builder = Bash::builder()
            .fs(files)
            .rootfs(false)
            .limits(bounds)
            .memory_limits(bounds::memory())
            .session_limits(bounds::session())
            .cwd(ctx.cwd.as_path());
        for (name, value) in ctx.env {
            builder = builder.env(name, value);
        }
        let script = format!("{} \"$@\"", self.which.name());
        let done = match builder.build().exec_with_options(&script, options).await {
            // Its own time is up; the script's may not be.
            Err(error) if bounds::is_time_up(&error) && Clock::system().instant() < self.deadline => {
                return Ok(ExecResult::err(format!("{}: execution timed out\n", self.which.name()), 5));
            }
            done => done?,
        };
        Ok(ExecResult {
            stdout: done.stdout,
            stderr: done.stderr,
            exit_code: done.exit_code,
            stdout_truncated: done.stdout_truncated,
            stderr_truncated: done.stderr_truncated,
            ..ExecResult::default()
        })
    }
}

/// The arguments of `jq` with a filter that is in a file put among them: what was looked at is what is run.
async fn with_filter(ctx: &BuiltinContext<'_>) -> Result<Vec<String>, ExecResult> {
    let read = JqWords::read(ctx.args);
    let too_long = || {
        let most = limits::native_shell::JQ_FILTER_MAX_BYTES;
        ExecResult::err(format!("jq: error: the filter is longer than {most} bytes\n"), 3)
    };
    if read.filter.is_some_and(|filter| filter.len() > limits::native_shell::JQ_FILTER_MAX_BYTES) {
        return Err(too_long());
    }
    let Some(file) = read.file else { return Ok(ctx.args.to_vec()) };
    let missing = |_| ExecResult::err(format!("jq: error: Could not open {file}: No such file\n"), 2);
    let bytes = ctx.fs.read_file(&ctx.cwd.join(file)).await.map_err(missing)?;
    if bytes.len() > limits::native_shell::JQ_FILTER_MAX_BYTES {
        return Err(too_long());
    }
    let text = String::from_utf8_lossy(&bytes);
    // A blank before it: it must not look like an option.
    let filter = if text.trim().is_empty() { ".".to_string() } else { format!(" {text}") };
    Ok(std::iter::once(filter).chain(read.others).collect())
}

/// The arguments with a filter that does what is meant, and in which every call is counted.
fn counted(mut args: Vec<String>) -> Vec<String> {
    let filter = JqWords::read(&args).filter;
    let at = args.iter().position(|word| filter.is_some_and(|filter| std::ptr::eq(filter, word.as_str())));
    if let Some(at) = at {
        args[at] = jq::counted(&jq::with_ordered_del(&args[at])).into_owned();
    }
    args
}

/// The words of a `jq`, as the interpreter's own reads them.
#[derive(Debug, Default, PartialEq)]
struct JqWords<'a> {
    /// The first word that is no option nor part of one.
    filter: Option<&'a str>,
    /// The file the filter is in instead.
    file: Option<&'a str>,
    /// All words without that option.
    others: Vec<String>,
}

impl JqWords<'_> {
    fn read(args: &[String]) -> JqWords<'_> {
        let mut words = JqWords::default();
        let (mut at, mut is_plain) = (0, false);
        while let Some(word) = args.get(at) {
            let mut takes = 0;
            let mut kept = Some(word.clone());
            match word.as_str() {
                _ if is_plain => words.filter = words.filter.or(Some(word)),
                "--" => is_plain = true,
                "--indent" => takes = 1,
                "--arg" | "--argjson" | "--slurpfile" | "--rawfile" => takes = 2,
                "--from-file" => kept = None,
                long if long.starts_with("--") => {}
                short if short.len() > 1 && short.starts_with('-') => {
                    if short.contains('f') {
                        let rest = short.replace('f', "");
                        kept = None;
                        words.others.extend((rest != "-").then_some(rest));
                    }
                }
                _ => words.filter = words.filter.or(Some(word)),
            }
            at += 1;
            match kept {
                Some(kept) => {
                    words.others.push(kept);
                    words.others.extend(args.iter().skip(at).take(takes).cloned());
                    at += takes;
                }
                None => match args.get(at) {
                    Some(file) => {
                        words.file = Some(file);
                        at += 1;
                    }
                    // Its own words for what is missing.
                    None => words.others.push(word.clone()),
                },
            }
        }
        words
    }
}

/// The files such a command sees, with what it has read counted.
struct Counted {
    inner: Arc<dyn FileSystem>,
    which: Which,
    left: AtomicUsize,
}

impl Counted {
    fn take(&self, bytes: &[u8]) -> std::io::Result<()> {
        let cost = self.which.cost(bytes);
        let taken =
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(cost));
        match taken {
            Ok(_) => Ok(()),
            Err(_) => Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, "File too large")),
        }
    }
}

impl FileSystemExt for Counted {}

#[async_trait]
impl FileSystem for Counted {
    async fn read_file(&self, path: &Path) -> bashkit::Result<Vec<u8>> {
        let bytes = self.inner.read_file(path).await?;
        self.take(&bytes).map_err(bashkit::Error::Io)?;
        Ok(bytes)
    }

    async fn write_file(&self, path: &Path, content: &[u8]) -> bashkit::Result<()> {
        self.inner.write_file(path, content).await
    }

    async fn append_file(&self, path: &Path, content: &[u8]) -> bashkit::Result<()> {
        self.inner.append_file(path, content).await
    }

    async fn mkdir(&self, path: &Path, recursive: bool) -> bashkit::Result<()> {
        self.inner.mkdir(path, recursive).await
    }

    async fn remove(&self, path: &Path, recursive: bool) -> bashkit::Result<()> {
        self.inner.remove(path, recursive).await
    }

    async fn stat(&self, path: &Path) -> bashkit::Result<Metadata> {
        self.inner.stat(path).await
    }

    async fn lstat(&self, path: &Path) -> bashkit::Result<Metadata> {
        self.inner.lstat(path).await
    }

    async fn read_dir(&self, path: &Path) -> bashkit::Result<Vec<DirEntry>> {
        self.inner.read_dir(path).await
    }

    async fn exists(&self, path: &Path) -> bashkit::Result<bool> {
        self.inner.exists(path).await
    }

    async fn rename(&self, from: &Path, to: &Path) -> bashkit::Result<()> {
        self.inner.rename(from, to).await
    }

    async fn copy(&self, from: &Path, to: &Path) -> bashkit::Result<()> {
        self.inner.copy(from, to).await
    }

    async fn symlink(&self, target: &Path, link: &Path) -> bashkit::Result<()> {
        self.inner.symlink(target, link).await
    }

    async fn read_link(&self, path: &Path) -> bashkit::Result<PathBuf> {
        self.inner.read_link(path).await
    }

    async fn chmod(&self, path: &Path, mode: u32) -> bashkit::Result<()> {
        self.inner.chmod(path, mode).await
    }

    async fn set_modified_time(&self, path: &Path, time: SystemTime) -> bashkit::Result<()> {
        self.inner.set_modified_time(path, time).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_is_found_where_jq_finds_it() {
        for (line, filter, file, others) in [
            (". a b", Some("."), None, ". a b"),
            ("-n --arg x y .a", Some(".a"), None, "-n --arg x y .a"),
            ("--slurpfile --arg x .a", Some(".a"), None, "--slurpfile --arg x .a"),
            ("--args .a b", Some(".a"), None, "--args .a b"),
            ("-n -- -1", Some("-1"), None, "-n -- -1"),
            ("-f p a", Some("a"), Some("p"), "a"),
            ("-nf p --indent 2 a", Some("a"), Some("p"), "-n --indent 2 a"),
            ("a --from-file p", Some("a"), Some("p"), "a"),
            ("-f", None, None, "-f"),
        ] {
            let args: Vec<String> = line.split(' ').map(str::to_string).collect();
            let others = others.split(' ').map(str::to_string).collect();
            assert_eq!(JqWords::read(&args), JqWords { filter, file, others }, "{line}");
        }
    }
}
