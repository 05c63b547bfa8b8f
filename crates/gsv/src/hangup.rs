//! Ends the program when its terminal goes away. A program that was started with hang-ups ignored gets no signal for
//! it, and the line editor would read the end of its input over and over.

use std::sync::Once;

use rustix::event::{PollFd, PollFlags, poll};

/// Begins to watch, once.
pub fn watch() {
    static WATCHING: Once = Once::new();
    WATCHING.call_once(|| {
        let watching = std::thread::Builder::new().name("hangup".to_string()).spawn(wait);
        if let Err(error) = watching {
            tracing::debug!(%error, "nobody watches the terminal");
        }
    });
}

fn wait() {
    let stdin = std::io::stdin();
    // Asking for nothing: a hang-up is told all the same.
    let mut ends = [PollFd::new(&stdin, PollFlags::empty())];
    loop {
        match poll(&mut ends, None) {
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
            Ok(_) => std::process::exit(1),
        }
    }
}
