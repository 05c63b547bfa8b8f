//! Bounded-memory output of a command, to stdout or into a file.

use base::limits;
use vfs::view::{Opened, Writing};
use vfs::{Code, Fault, VPath, View};

/// So much is gathered before it is written.
const GATHERED_BYTES: usize = 4 * 1024 * 1024;

/// Where bytes go.
pub(super) struct Sink<'a> {
    view: &'a View,
    gathered: Vec<u8>,
    /// The file and the mode it gets when it is new; none for stdout.
    file: Option<(VPath, u32)>,
    is_begun: bool,
}

impl<'a> Sink<'a> {
    /// Everything is kept for stdout, up to what a shell may print.
    pub fn stdout(view: &'a View) -> Sink<'a> {
        Sink { view, gathered: Vec::new(), file: None, is_begun: false }
    }

    /// A file that is created or replaced with the first bytes written.
    pub fn file(view: &'a View, path: VPath, mode: u32) -> Sink<'a> {
        Sink { view, gathered: Vec::new(), file: Some((path, mode)), is_begun: false }
    }

    /// Adds bytes. Others have their turn, so that a command which makes many can be stopped.
    pub async fn put(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if self.file.is_none() && self.gathered.len() + bytes.len() > limits::native_shell::STREAM_MAX_BYTES {
            return Err(Fault::new(Code::TooLarge, "write", "stdout"));
        }
        self.gathered.extend_from_slice(bytes);
        if self.file.is_some() && self.gathered.len() >= GATHERED_BYTES {
            self.flush().await?;
        }
        tokio::task::yield_now().await;
        Ok(())
    }

    /// Writes what is gathered, and creates the file if nothing was.
    pub async fn flush(&mut self) -> Result<(), Fault> {
        let Some((path, mode)) = &self.file else { return Ok(()) };
        let bytes = std::mem::take(&mut self.gathered);
        if self.is_begun {
            return if bytes.is_empty() { Ok(()) } else { self.view.append(path, bytes).await };
        }
        let how = Writing { mode: *mode, ..Writing::default() };
        self.view.write(path, bytes, how).await?;
        self.is_begun = true;
        Ok(())
    }

    /// Writes the rest; the answer is what goes to stdout.
    pub async fn finish(mut self) -> Result<Vec<u8>, Fault> {
        self.flush().await?;
        Ok(self.gathered)
    }

    /// What was gathered for stdout before something failed; a file that was begun is removed.
    pub async fn give_up(self) -> Result<Vec<u8>, Fault> {
        match &self.file {
            Some((path, _)) if self.is_begun => self.view.remove(path, false).await.map(|()| Vec::new()),
            Some(_) => Ok(Vec::new()),
            None => Ok(self.gathered),
        }
    }
}

/// A file's bytes, one after the other.
pub(super) type Source = Box<dyn std::io::Read + Send + Sync>;

/// Opens a file for reading.
pub(super) async fn source(view: &View, path: &VPath) -> Result<(Source, vfs::Stat), Fault> {
    match view.open(path).await? {
        Opened::File(file, stat) => Ok((Box::new(file), stat)),
        Opened::Bytes(bytes, stat) => Ok((Box::new(std::io::Cursor::new(bytes)), stat)),
        Opened::Directory(_) => Err(Fault::new(Code::IsDirectory, "read", path.as_str())),
    }
}

/// What was piped into a command.
pub(super) fn piped(bytes: &[u8]) -> Source {
    Box::new(std::io::Cursor::new(bytes.to_vec()))
}
