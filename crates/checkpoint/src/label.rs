//! Data transfer types of a checkpoint: what it is called and what is told of it, written out as JSON.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The number of a checkpoint in its workspace; it only grows and is never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Id(pub u64);

impl fmt::Display for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl FromStr for Id {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Id, Self::Err> {
        text.parse().map(Id)
    }
}

/// Which side of an agent's work a checkpoint was taken on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// Before the first thing was done.
    Before,
    /// After it; what changed since was somebody else.
    After,
}

/// What a checkpoint was taken for. A run is known by `pid` and `run` together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// The process whose work it surrounds; empty when a person brought a checkpoint back.
    pub pid: String,
    /// The run of the process.
    pub run: String,
    /// The call of the run, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Before or after.
    pub when: When,
}

impl Label {
    /// Whether both are about the same run.
    pub fn is_same_run(&self, other: &Label) -> bool {
        self.pid == other.pid && self.run == other.run
    }
}

/// One checkpoint in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Its number.
    pub id: Id,
    /// What it was taken for.
    pub label: Label,
    /// When, in milliseconds since the Unix epoch.
    pub taken_ms: i64,
    /// How many files and links it holds.
    pub files: u64,
    /// How many bytes they have together.
    pub bytes: u64,
    /// How many bytes it added to the store.
    pub added_bytes: u64,
    /// Whether every file that should be in it is, as it was at one moment.
    pub is_whole: bool,
    /// The commit in the shadow repository, in hexadecimal digits.
    pub commit: String,
    /// The file system's own time when the walk began, to compare with times of change.
    pub began_ns: i64,
}

/// What a checkpoint that was just taken holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Taken {
    /// Its number.
    pub id: Id,
    /// How many files and links it holds.
    pub files: u64,
    /// How many bytes they have together.
    pub bytes: u64,
    /// How many bytes it added to the store.
    pub added_bytes: u64,
    /// What it does not hold, or not as it was at one moment; the first thousand. What is ignored is not listed.
    pub left_out: Vec<LeftOut>,
    /// How many more there are.
    pub left_out_more: u64,
    /// How many names git would ignore; what ignored directories hold is not counted.
    pub ignored: u64,
    /// Whether every file that should be in it is, as it was at one moment.
    pub is_whole: bool,
}

/// Something that a checkpoint does not bring back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Below the workspace.
    #[serde(serialize_with = "crate::escape::path")]
    pub path: PathBuf,
    /// The reason.
    pub why: Why,
}

/// Why something is not in a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// Git would ignore it.
    Ignored,
    /// The file is larger than a file may be.
    TooLarge,
    /// The operating system did not let us read it.
    Unreadable,
    /// A socket, a device or a FIFO.
    Special,
    /// It lies too many directories deep.
    TooDeep,
    /// Another file system is mounted there.
    OtherFileSystem,
    /// Git objects beyond what is kept of repositories.
    RepositoryTooLarge,
    /// The repository's directory is outside the workspace, as with linked worktrees.
    RepositoryElsewhere,
    /// It changed while it was read, twice; a part of it may be of another moment than the rest.
    Torn,
}

impl Why {
    /// Whether content that should be brought back is missing. Sockets have none, ignored files need not come back,
    /// and what is outside the workspace cannot be changed inside it.
    pub fn is_loss(self) -> bool {
        !matches!(self, Why::Ignored | Why::Special | Why::RepositoryElsewhere)
    }

    /// The reason in words, to stand after the path.
    pub fn words(self) -> &'static str {
        match self {
            Why::Ignored => "is ignored by git",
            Why::TooLarge => "is too large",
            Why::Unreadable => "cannot be read",
            Why::Special => "is a socket, a device or a FIFO",
            Why::TooDeep => "lies too deep",
            Why::OtherFileSystem => "is on another file system",
            Why::RepositoryTooLarge => "is part of a repository whose objects are too large",
            Why::RepositoryElsewhere => "belongs to a repository outside the workspace",
            Why::Torn => "changed while it was read",
        }
    }

    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    pub(crate) fn of_code(code: u8) -> Option<Why> {
        ALL.into_iter().find(|why| why.code() == code)
    }
}

/// Every reason, in the order of their codes in side files.
const ALL: [Why; 9] = [
    Why::Ignored,
    Why::TooLarge,
    Why::Unreadable,
    Why::Special,
    Why::TooDeep,
    Why::OtherFileSystem,
    Why::RepositoryTooLarge,
    Why::RepositoryElsewhere,
    Why::Torn,
];
