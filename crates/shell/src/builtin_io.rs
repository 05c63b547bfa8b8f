//! Vocabulary of the registry of builtins: what one reads, holds, writes and streams.

use base::limits;

use crate::stdin_demand::Stdin;

/// What a builtin does with its input and output.
#[derive(Clone, Copy)]
pub(crate) struct Io {
    /// How it reads standard input when no file is named; nothing where it never does.
    pub stdin: Option<Stdin>,
    /// What it holds in memory of the files that it reads.
    pub holds: Holds,
    /// How many times as long as its input its output may be, by its arguments.
    pub growth: fn(&[String]) -> usize,
    /// What it wants of a device without an end that is among its arguments.
    pub endless: Endless,
    /// What becomes of such a device that is redirected into it.
    pub redirected: Redirected,
    /// Whether it often stands before a redirection: those are looked after once a script has set a umask.
    pub writes: bool,
    /// Whether it writes while others read; in a `<(…)` it takes what is piped to the command before it.
    pub streams: bool,
    /// Whether the interpreter hands it the reading end of a pipe, past any wrapping.
    pub takes_pipe: bool,
    /// Whether it runs text that cannot be seen beforehand.
    pub runs_text: bool,
    /// Whether text that was not seen is taken to read with it.
    pub is_for_unseen: bool,
}

/// What a builtin holds in memory of the files that it reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Holds {
    /// It looks at one file after the other and keeps none of them.
    Nothing,
    /// It looks at one file after the other, and holds the lines of one at a time.
    OneFile,
    /// All of them, as they are.
    #[default]
    Bytes,
    /// Each line of all of them on its own.
    Lines,
}

/// What a builtin wants of a device without an end that is among its arguments.
#[derive(Clone, Copy)]
pub(crate) enum Endless {
    /// All of it, which there is not: it is refused.
    All,
    /// The usual amount, and to be told that there would be more.
    Usual,
    /// As many bytes as its arguments say; all of it if they do not.
    Bytes(fn(&[String]) -> Option<usize>),
    /// Nothing: it asks what kind of file it is, or others read it.
    Nothing,
}

/// What becomes of a device without an end that is redirected into a builtin.
#[derive(Clone, Copy)]
pub(crate) enum Redirected {
    /// It is put among the files it reads, so that it gets as much as it asks for, or is told.
    File,
    /// The same, as the argument that this makes of it; nothing where it reads another file.
    Argument(fn(&[String], &str) -> Option<String>),
    /// It takes no files or does not say why one could not be read: it is asked how much it wants before it runs.
    AskedFirst,
}

impl Io {
    /// Reads no standard input, holds what it reads, and takes a device without an end for a file.
    pub(crate) const PLAIN: Io = Io {
        stdin: None,
        holds: Holds::Bytes,
        growth: |_| 1,
        endless: Endless::All,
        redirected: Redirected::File,
        writes: false,
        streams: false,
        takes_pipe: false,
        runs_text: false,
        is_for_unseen: false,
    };

    /// Reads standard input so.
    pub(crate) const fn reading(stdin: Stdin) -> Io {
        Io { stdin: Some(stdin), ..Io::PLAIN }
    }

    pub(crate) const fn holding(holds: Holds) -> Io {
        Io { holds, ..Io::PLAIN }
    }

    pub(crate) const fn and_holding(self, holds: Holds) -> Io {
        Io { holds, ..self }
    }

    pub(crate) const fn and_writing(self) -> Io {
        Io { writes: true, ..self }
    }

    pub(crate) const fn and_asked_first(self) -> Io {
        Io { redirected: Redirected::AskedFirst, ..self }
    }
}

/// What the bytes cost a command that holds each line on its own.
pub(crate) fn cost(bytes: &[u8]) -> usize {
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
    bytes.len().saturating_add(lines.saturating_mul(limits::native_shell::LINE_BYTES))
}
