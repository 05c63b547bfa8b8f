//! Error without a path: what failed inside the disk and why; the path is added where the caller's own is known.

use rustix::io::Errno;

use crate::fault::{Code, Fault};

/// What failed and, where more can be said, why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fail {
    pub code: Code,
    pub note: Option<String>,
}

impl Fail {
    /// A failure with words of its own.
    pub fn because(code: Code, note: impl Into<String>) -> Fail {
        Fail { code, note: Some(note.into()) }
    }

    /// The failure as the caller gets it: of an operation on a path.
    pub fn at(self, op: &'static str, path: &str) -> Fault {
        Fault { code: self.code, op, path: path.to_string(), note: self.note }
    }
}

impl From<Code> for Fail {
    fn from(code: Code) -> Fail {
        Fail { code, note: None }
    }
}

impl From<Errno> for Fail {
    fn from(errno: Errno) -> Fail {
        let code = Code::of(errno);
        let note = (code == Code::Io).then(|| format!("input/output error: {errno}"));
        Fail { code, note }
    }
}

impl From<journal::Error> for Fail {
    fn from(error: journal::Error) -> Fail {
        match error {
            journal::Error::Late => Fail::because(Code::Io, error.to_string()),
            journal::Error::Io(error) => error.into(),
        }
    }
}

impl From<std::io::Error> for Fail {
    fn from(error: std::io::Error) -> Fail {
        match Errno::from_io_error(&error) {
            Some(errno) => Fail::from(errno),
            None => Fail::because(Code::Io, format!("input/output error: {error}")),
        }
    }
}
