//! Ctrl-C while a command is followed: the first asks the command to stop, the second ends it.

use tokio::sync::mpsc;

/// Presses that may wait to be looked at; more say nothing new.
const PRESSES_MAX: usize = 4;

/// Presses of Ctrl-C, from the moment this is made.
pub struct Interrupts {
    presses: mpsc::Receiver<()>,
    pressed: u32,
    sent: u32,
    listener: tokio::task::JoinHandle<()>,
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl Interrupts {
    /// Listens from now on; the program no longer ends by itself on Ctrl-C.
    pub fn listen() -> Interrupts {
        let (press, presses) = mpsc::channel(PRESSES_MAX);
        let listener = tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                // A full queue means that nobody looked yet; one press more changes nothing.
                if let Err(mpsc::error::TrySendError::Closed(())) = press.try_send(()) {
                    return;
                }
            }
        });
        Interrupts { presses, pressed: 0, sent: 0, listener }
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
        Some(if self.sent == 1 { "INT" } else { "KILL" })
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

    /// Waits for a press.
    pub async fn wait(&mut self) {
        if self.presses.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
        self.pressed += 1;
    }
}
