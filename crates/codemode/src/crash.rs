//! Ways for a guest to end badly, for tests: production has no block that could reach them.
#![allow(unsafe_code)]

/// Ends the child, or tries what must end it.
pub(crate) fn crash(how: &str) {
    match how {
        "abort" => std::process::abort(),
        "exit" => std::process::exit(0),
        "segfault" => {
            // SAFETY: it is not; that is what it is for.
            unsafe { std::ptr::null_mut::<u8>().write_volatile(1) }
        }
        "open" => drop(std::fs::File::open("/etc/passwd")),
        "socket" => drop(std::net::UdpSocket::bind("127.0.0.1:0")),
        "exec" => drop(std::process::Command::new("/bin/true").status()),
        "thread" => drop(std::thread::Builder::new().spawn(|| {})),
        "loop" => loop {
            std::hint::spin_loop();
        },
        "memory" => {
            let mut all = Vec::new();
            loop {
                all.push(vec![1_u8; 64 * 1024 * 1024]);
            }
        }
        _ => {}
    }
}
