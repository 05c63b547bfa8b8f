//! Attempts to use more than is there: processes, threads, memory, time.

use std::io;
use std::time::Duration;

/// How many children can exist at once, up to a number.
pub fn processes(most: usize) -> io::Result<String> {
    let mut made = 0;
    while made < most {
        match unsafe { libc::fork() } {
            -1 => break,
            0 => loop {
                std::thread::sleep(Duration::from_secs(60));
            },
            _ => made += 1,
        }
    }
    Ok(made.to_string())
}

/// How many threads can.
pub fn threads(most: usize) -> io::Result<String> {
    let forever = || std::thread::sleep(Duration::from_secs(60));
    let start = || std::thread::Builder::new().stack_size(64 * 1024).spawn(forever);
    Ok((0..most).take_while(|_| start().is_ok()).count().to_string())
}

/// Takes memory and keeps it.
pub fn memory(bytes: usize) -> io::Result<String> {
    let kept = vec![1_u8; bytes];
    std::thread::sleep(Duration::from_secs(60));
    Ok(kept.iter().map(|byte| usize::from(*byte)).sum::<usize>().to_string())
}

/// Leaves a process behind, out of the session and the family.
pub fn linger() -> io::Result<String> {
    unsafe {
        if libc::fork() == 0 {
            libc::setsid();
            if libc::fork() == 0 {
                for fd in 0..3 {
                    libc::close(fd);
                }
                std::thread::sleep(Duration::from_secs(60));
            }
            libc::_exit(0);
        }
    }
    Ok(String::new())
}
