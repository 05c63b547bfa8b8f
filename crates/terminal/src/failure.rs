//! Error type of every command: one line for a person, sometimes a hint, and the exit code.

use protocol::error::Reason;

/// What every command returns.
pub type Result<T> = std::result::Result<T, Failure>;

/// Exit code of a command that failed.
const FAILED: u8 = 1;
/// Exit code of a command that was called wrongly.
const USAGE: u8 = 2;
/// Exit code after the reader of our output went away, as a shell reports SIGPIPE.
const PIPE: u8 = 141;

/// A command that did not work.
#[derive(Debug)]
pub struct Failure {
    /// One sentence.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The gateway's error code, when it was the gateway that refused.
    pub code: Option<i32>,
    /// The gateway's reason, when it was the gateway that refused.
    pub reason: Option<Reason>,
    /// The program's exit code.
    pub exit: u8,
    /// True when there is nobody to tell.
    pub silent: bool,
    /// True when the command on the target must not go on.
    pub ends_command: bool,
}

impl Failure {
    /// A failure in our own words.
    pub fn new(message: impl Into<String>) -> Failure {
        Failure {
            message: message.into(),
            hint: None,
            code: None,
            reason: None,
            exit: FAILED,
            silent: false,
            ends_command: false,
        }
    }

    /// The command was called wrongly.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure { exit: USAGE, ..Failure::new(message) }
    }

    /// The same failure with a hint, in place of one it may have.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// The same failure, saying first what was attempted.
    pub fn while_doing(mut self, what: impl std::fmt::Display) -> Failure {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// Whether the gateway answered with this code.
    pub fn has_code(&self, code: i32) -> bool {
        self.code == Some(code)
    }
}

impl From<protocol::error::Error> for Failure {
    fn from(error: protocol::error::Error) -> Failure {
        let hint = match error.code {
            401 => Some("log in with `gsv auth login`, or check --user and the password or token"),
            425 => Some("set it up with `gsv auth setup`"),
            503 if matches!(error.reason, Reason::device_offline | Reason::device_disconnected) => {
                Some("`gsv devices` shows which devices are online")
            }
            _ => None,
        };
        let message = match error.code {
            425 => "the gateway is not set up yet".to_string(),
            _ => error.message,
        };
        let (code, reason, hint) = (Some(error.code), Some(error.reason), hint.map(str::to_string));
        Failure { code, reason, hint, ..Failure::new(message) }
    }
}

impl From<client::Error> for Failure {
    fn from(error: client::Error) -> Failure {
        match error {
            client::Error::Gateway(error) => error.into(),
            error @ client::Error::Unreachable { .. } => Failure::new(error.to_string()).with_hint(
                "is the gateway running? Start it with `gsv serve`, or name another one with --url",
            ),
            client::Error::Untrusted { ref hint, .. } => {
                Failure::new(error.to_string()).with_hint(hint.clone())
            }
            error => Failure::new(error.to_string()),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Failure { silent: true, exit: PIPE, ..Failure::new("nobody reads the output") };
        }
        Failure::new(error.to_string())
    }
}
