//! Error codes of files: why something about a file failed, in words that clients and shells know.

use std::fmt;

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// There is no such file.
    NotFound,
    /// The file's mode, or that of a directory on the way, does not allow it.
    Denied,
    /// Nobody, or only the owner or root, may do that.
    NotPermitted,
    /// A directory was not meant.
    IsDirectory,
    /// A directory was meant.
    NotDirectory,
    /// It is there already.
    Exists,
    /// The directory is not empty.
    NotEmpty,
    /// Too many symbolic links.
    Loop,
    /// The name or path is too long.
    NameTooLong,
    /// The argument makes no sense: a NUL in a path, a bad line, a move of a directory into itself.
    Invalid,
    /// The disk is full.
    NoSpace,
    /// The user's quota is used up.
    Quota,
    /// The file is too large for this.
    TooLarge,
    /// This part of the tree cannot do that.
    Unsupported,
    /// The two paths are in different parts of the tree; a move is a copy there.
    CrossDevice,
    /// The disk failed.
    Io,
}

impl Code {
    /// The name that Unix gives it.
    pub fn name(self) -> &'static str {
        match self {
            Code::NotFound => "ENOENT",
            Code::Denied => "EACCES",
            Code::NotPermitted => "EPERM",
            Code::IsDirectory => "EISDIR",
            Code::NotDirectory => "ENOTDIR",
            Code::Exists => "EEXIST",
            Code::NotEmpty => "ENOTEMPTY",
            Code::Loop => "ELOOP",
            Code::NameTooLong => "ENAMETOOLONG",
            Code::Invalid => "EINVAL",
            Code::NoSpace => "ENOSPC",
            Code::Quota => "EDQUOT",
            Code::TooLarge => "EFBIG",
            Code::Unsupported => "ENOSYS",
            Code::CrossDevice => "EXDEV",
            Code::Io => "EIO",
        }
    }

    /// What the operating system's error number means here.
    pub fn of(errno: rustix::io::Errno) -> Code {
        use rustix::io::Errno;
        match errno {
            Errno::NOENT => Code::NotFound,
            Errno::ACCESS => Code::Denied,
            Errno::PERM | Errno::ROFS => Code::NotPermitted,
            Errno::ISDIR => Code::IsDirectory,
            Errno::NOTDIR => Code::NotDirectory,
            Errno::EXIST => Code::Exists,
            Errno::NOTEMPTY => Code::NotEmpty,
            Errno::LOOP => Code::Loop,
            Errno::NAMETOOLONG => Code::NameTooLong,
            Errno::INVAL => Code::Invalid,
            Errno::NOSPC => Code::NoSpace,
            Errno::DQUOT => Code::Quota,
            Errno::FBIG => Code::TooLarge,
            Errno::NOSYS | Errno::NOTSUP => Code::Unsupported,
            Errno::XDEV => Code::CrossDevice,
            // The same number as another one on some hosts.
            errno if errno == Errno::OPNOTSUPP => Code::Unsupported,
            _ => Code::Io,
        }
    }

    /// What Unix says about it, in the words of `facts`: lower case.
    pub fn words(self) -> &'static str {
        match self {
            Code::NotFound => "no such file or directory",
            Code::Denied => "permission denied",
            Code::NotPermitted => "operation not permitted",
            Code::IsDirectory => "illegal operation on a directory",
            Code::NotDirectory => "not a directory",
            Code::Exists => "file already exists",
            Code::NotEmpty => "directory not empty",
            Code::Loop => "too many symbolic links",
            Code::NameTooLong => "name too long",
            Code::Invalid => "invalid argument",
            Code::NoSpace => "no space left on device",
            Code::Quota => "disk quota exceeded",
            Code::TooLarge => "file too large",
            Code::Unsupported => "function not implemented",
            Code::CrossDevice => "cross-device link",
            Code::Io => "input/output error",
        }
    }

    /// What a shell command says about it: `cat: x: No such file or directory`.
    pub fn shell_words(self) -> &'static str {
        match self {
            Code::NotFound => "No such file or directory",
            Code::Denied => "Permission denied",
            Code::NotPermitted => "Operation not permitted",
            Code::IsDirectory => "Is a directory",
            Code::NotDirectory => "Not a directory",
            Code::Exists => "File exists",
            Code::NotEmpty => "Directory not empty",
            Code::Loop => "Too many levels of symbolic links",
            Code::NameTooLong => "File name too long",
            Code::Invalid => "Invalid argument",
            Code::NoSpace => "No space left on device",
            Code::Quota => "Disk quota exceeded",
            Code::TooLarge => "File too large",
            Code::Unsupported => "Function not implemented",
            Code::CrossDevice => "Invalid cross-device link",
            Code::Io => "Input/output error",
        }
    }
}

/// A failure: what, about which path, doing what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What kind.
    pub code: Code,
    /// The operation in Unix words (`open`, `stat`, `unlink`, …); may be empty.
    pub op: &'static str,
    /// The path as the caller named it.
    pub path: String,
    /// Replaces the words of the code where more can be said.
    pub note: Option<String>,
}

impl Fault {
    /// A failure of an operation on a path.
    pub fn new(code: Code, op: &'static str, path: impl Into<String>) -> Fault {
        Fault { code, op, path: path.into(), note: None }
    }

    /// Says more than the code does.
    pub fn because(mut self, note: impl Into<String>) -> Fault {
        self.note = Some(note.into());
        self
    }
}

impl fmt::Display for Fault {
    /// `ENOENT: no such file or directory, open '/x'`; with a note, `EPERM: <note>`. Refusals on the way to a file
    /// are the same whatever was to be done with it.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match &self.note {
            Some(note) => write!(f, "{}: {note}", self.code.name()),
            None if self.op.is_empty() || matches!(self.code, Code::Denied | Code::Loop) => {
                write!(f, "{}: {}, '{}'", self.code.name(), self.code.words(), self.path)
            }
            None => write!(f, "{}: {}, {} '{}'", self.code.name(), self.code.words(), self.op, self.path),
        }
    }
}

impl std::error::Error for Fault {}
