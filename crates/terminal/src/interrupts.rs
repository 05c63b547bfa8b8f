//! Signal handling: the first Ctrl-C asks a followed command to stop, the second kills it; SIGTERM and SIGHUP end the
//! program and its command.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::limits;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::failure::Failure;

/// The signal that nothing can ignore, which a second Ctrl-C stands for.
pub const KILL: &str = "KILL";

/// Presses of Ctrl-C, from the moment this is made.
pub struct Interrupts {
    presses: mpsc::Receiver<()>,
    pressed: u32,
    sent: u32,
    /// The exit code, once the program was told to end.
    end: watch::Sender<Option<u8>>,
    ending: watch::Receiver<Option<u8>>,
    listeners: Vec<JoinHandle<()>>,
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.listeners.iter().for_each(JoinHandle::abort);
    }
}

/// Somebody types, and nothing else looks at what the program is told.
pub struct PromptWatch(JoinHandle<()>);

impl Drop for PromptWatch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Interrupts {
    /// Listens from now on; the program no longer ends by itself on Ctrl-C.
    pub fn listen() -> Interrupts {
        let (press, presses) = mpsc::channel(limits::cli::PRESSES_MAX);
        let listener = tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                // A full queue means that nobody looked yet; one press more changes nothing.
                if let Err(mpsc::error::TrySendError::Closed(())) = press.try_send(()) {
                    return;
                }
            }
        });
        let (end, ending) = watch::channel(None);
        Interrupts { presses, pressed: 0, sent: 0, end, ending, listeners: vec![listener] }
    }

    /// Listens also to SIGTERM and SIGHUP; the program no longer ends by itself on these either.
    pub fn listen_to_all() -> Interrupts {
        let mut interrupts = Interrupts::listen();
        #[cfg(unix)]
        for number in [libc::SIGTERM, libc::SIGHUP] {
            interrupts.listeners.extend(signals::listener(number, interrupts.end.clone()));
        }
        interrupts
    }

    /// What tells the program to end, with this exit code.
    pub fn end_sender(&self) -> impl Fn(u8) + Send + 'static {
        let end = self.end.clone();
        move |exit| {
            end.send_replace(Some(exit));
        }
    }

    /// While what comes of this lives, being told to end breaks what is read at the prompt, and ends the program if
    /// that does not help: a terminal that is gone is read over and over.
    pub fn watch_prompt(&self, cancel: Arc<AtomicBool>) -> PromptWatch {
        let mut ending = self.ending.clone();
        PromptWatch(tokio::spawn(async move {
            let Ok(exit) = ending.wait_for(Option::is_some).await.map(|exit| *exit) else { return };
            cancel.store(true, Ordering::Relaxed);
            tokio::time::sleep(limits::cli::PROMPT_END_TIMEOUT).await;
            std::process::exit(exit.map_or(1, i32::from));
        }))
    }

    /// Forgets earlier presses: a new command begins.
    pub fn reset(&mut self) {
        while self.presses.try_recv().is_ok() {}
        (self.pressed, self.sent) = (0, 0);
    }

    /// The signal to send, if there is a press that was not passed on.
    pub fn next_signal(&mut self) -> Option<&'static str> {
        while self.presses.try_recv().is_ok() {
            self.pressed += 1;
        }
        if self.unsent() == 0 {
            return None;
        }
        self.sent += 1;
        Some(if self.sent == 1 { "INT" } else { KILL })
    }

    /// The last signal did not get through.
    pub fn send_again(&mut self) {
        self.sent = self.sent.saturating_sub(1);
    }

    /// Presses that were not passed on.
    pub fn unsent(&self) -> u32 {
        self.pressed - self.sent
    }

    /// Whether there was a press since `reset`.
    pub fn happened(&self) -> bool {
        self.pressed > 0
    }

    /// Whether the program was told to end.
    pub fn ending(&self) -> bool {
        self.ending.borrow().is_some()
    }

    /// How the program ends after a press that there is nothing to send to, or after it was told to end.
    pub fn failure(&self) -> Failure {
        match *self.ending.borrow() {
            Some(exit) => Failure { exit, silent: true, ..Failure::new("told to end") },
            None => Failure { exit: 130, ..Failure::new("interrupted") },
        }
    }

    /// Waits for a press, or for being told to end.
    pub async fn wait(&mut self) {
        tokio::select! {
            press = self.presses.recv() => match press {
                Some(()) => self.pressed += 1,
                None => std::future::pending().await,
            },
            _ = self.ending.wait_for(Option::is_some) => {}
        }
    }
}

/// Signals that end a program.
#[cfg(unix)]
mod signals {
    use tokio::signal::unix::{SignalKind, signal};
    use tokio::sync::watch;
    use tokio::task::JoinHandle;

    /// Notes the exit code of a program that this signal ended; a signal that is ignored stays so.
    pub fn listener(number: i32, end: watch::Sender<Option<u8>>) -> Option<JoinHandle<()>> {
        if is_ignored(number) {
            return None;
        }
        let mut signal = match signal(SignalKind::from_raw(number)) {
            Ok(signal) => signal,
            Err(error) => {
                tracing::debug!("signal {number} cannot be listened to: {error}");
                return None;
            }
        };
        let exit = u8::try_from(128 + number).unwrap_or(u8::MAX);
        Some(tokio::spawn(async move {
            while signal.recv().await.is_some() {
                end.send_replace(Some(exit));
            }
        }))
    }

    /// Whether whoever started this program wants it to ignore a signal, as `nohup` does.
    #[allow(unsafe_code)] // What a signal does has no safe interface in the standard library.
    fn is_ignored(number: i32) -> bool {
        // SAFETY: with a null action the call only fills in the struct, which lives for the whole call and for
        // which all zeros is a valid value.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(number, std::ptr::null(), &mut action) == 0
                && action.sa_sigaction == libc::SIG_IGN
        }
    }
}
