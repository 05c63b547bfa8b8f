//! Hang-up detection: tells when the terminal goes away. A program that was started with hang-ups ignored gets no signal
//! for it, and the line editor would read the end of its input over and over.

use std::sync::Once;

use rustix::event::{PollFd, PollFlags, poll};

/// Begins to watch, once; what is to be done then is up to the first who asks.
pub fn watch(then: impl FnOnce() + Send + 'static) {
    static WATCHING: Once = Once::new();
    WATCHING.call_once(|| {
        let watching = std::thread::Builder::new().name("hangup".to_string()).spawn(|| wait(then));
        if let Err(error) = watching {
            tracing::debug!(%error, "nobody watches the terminal");
        }
    });
}

fn wait(then: impl FnOnce()) {
    let stdin = std::io::stdin();
    // Asking for nothing: a hang-up is told all the same.
    let mut ends = [PollFd::new(&stdin, PollFlags::empty())];
    loop {
        match poll(&mut ends, None) {
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
            Ok(_) => return then(),
        }
    }
}
