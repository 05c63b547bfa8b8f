//! Password prompt with echo suppression, as `readpassphrase` of BSD: echo is off before the prompt is shown, and the
//! terminal is as it was however asking ends: an answer, an error, Ctrl-C, Ctrl-Z, SIGTERM or a hang-up.

mod signals;

use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base::limits;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr,
};

use crate::failure::{Failure, Result};
use signals::Held;

/// The terminal has one echo, and the program one set of signal handlers.
static ASKING: Mutex<()> = Mutex::new(());

/// A terminal that does not show what is typed, while this lives: also between two questions.
pub struct PasswordPrompt {
    before: Termios,
    // In this order: who waits to ask next finds the signals as they were.
    held: Held,
    _asking: MutexGuard<'static, ()>,
}

impl PasswordPrompt {
    /// Turns echo off. What was typed until now was shown, and is no password: it is dropped.
    pub fn open() -> Result<PasswordPrompt> {
        let asking = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
        let before = tcgetattr(std::io::stdin()).map_err(|error| cannot_hide(&error))?;
        // Before echo is off: what ends the program in between would leave it so.
        let held = Held::hold()?;
        let prompt = PasswordPrompt { before, held, _asking: asking };
        tcflush(std::io::stdin(), QueueSelector::IFlush).map_err(|error| cannot_hide(&error))?;
        prompt.hide()?;
        Ok(prompt)
    }

    /// Asks, and gives the line that was typed.
    pub fn ask(&mut self, label: &str) -> Result<String> {
        let shown = format!("{label}: ");
        show(&shown)?;
        let mut line = Vec::new();
        loop {
            match self.wait()? {
                Some(signal) => {
                    line.clear();
                    self.take(signal)?;
                    show(&shown)?;
                }
                None if read(&mut line)? => break,
                None => {}
            }
        }
        show("\n")?;
        String::from_utf8(line).map_err(|_| Failure::new("the password is not valid UTF-8"))
    }

    /// Returns once there is something to read, or with the signal that came.
    fn wait(&self) -> Result<Option<i32>> {
        let stdin = std::io::stdin();
        loop {
            if let Some(signal) = self.held.next() {
                return Ok(Some(signal));
            }
            let mut ends = [
                PollFd::new(&stdin, PollFlags::IN),
                PollFd::from_borrowed_fd(self.held.inbox(), PollFlags::IN),
            ];
            match poll(&mut ends, None) {
                Err(Errno::INTR) => {}
                Err(error) => return Err(std::io::Error::from(error).into()),
                Ok(_) if ends[1].revents().is_empty() => return Ok(None),
                Ok(_) => {}
            }
        }
    }

    /// Lets a signal do what it would have done, at a terminal that is as it was. Returns if that was to stop, and the
    /// program goes on.
    fn take(&mut self, signal: i32) -> Result<()> {
        // Half a password must not be what the shell reads next.
        note(tcflush(std::io::stdin(), QueueSelector::IFlush));
        self.show_again();
        show("\n")?;
        self.held.let_through(signal);
        if !signals::stops(signal) {
            let exit = u8::try_from(128 + signal).unwrap_or(u8::MAX);
            return Err(Failure { exit, silent: true, ..Failure::new("interrupted") });
        }
        self.hide()
    }

    /// Lines are still edited, and Ctrl-C still is a signal.
    fn hide(&self) -> Result<()> {
        let mut hidden = self.before.clone();
        hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL);
        hidden.local_modes.insert(LocalModes::ICANON | LocalModes::ISIG);
        hidden.input_modes.insert(InputModes::ICRNL);
        loop {
            // Interrupted when the program is in the background and goes on there.
            match tcsetattr(std::io::stdin(), OptionalActions::Now, &hidden) {
                Err(Errno::INTR) => {}
                other => return other.map_err(|error| cannot_hide(&error)),
            }
        }
    }

    fn show_again(&self) {
        note(tcsetattr(std::io::stdin(), OptionalActions::Now, &self.before));
    }
}

impl Drop for PasswordPrompt {
    fn drop(&mut self) {
        self.show_again();
    }
}

/// Asks one question.
pub fn ask(label: &str) -> Result<String> {
    PasswordPrompt::open()?.ask(label)
}

/// Reads a piece; true when the line is whole.
fn read(line: &mut Vec<u8>) -> Result<bool> {
    let mut piece = [0; 1_024];
    let count = match rustix::io::read(std::io::stdin(), &mut piece) {
        Err(Errno::INTR | Errno::AGAIN) => return Ok(false),
        other => other.map_err(std::io::Error::from)?,
    };
    if count == 0 {
        show("\n")?;
        return Err(Failure::new("no answer: stdin ended"));
    }
    line.extend_from_slice(&piece[..count]);
    let whole = line.last() == Some(&b'\n');
    if whole {
        line.pop();
    }
    if line.len() > limits::login::PASSWORD_MAX_BYTES {
        return Err(Failure::new(format!(
            "a password has at most {} bytes",
            limits::login::PASSWORD_MAX_BYTES
        )));
    }
    Ok(whole)
}

fn show(text: &str) -> Result<()> {
    let mut stderr = std::io::stderr();
    stderr.write_all(text.as_bytes())?;
    Ok(stderr.flush()?)
}

fn cannot_hide(error: &Errno) -> Failure {
    Failure::new(format!("the terminal cannot hide a password: {error}")).with_hint("use --password-stdin")
}

/// A terminal that is gone needs nothing any more.
fn note(outcome: rustix::io::Result<()>) {
    if let Err(error) = outcome {
        tracing::debug!(%error, "the terminal was not set back");
    }
}
