//! Resource limit: raises the number of open files to what the machine allows, so that the gateway can hold many sockets.

/// Raises the soft limit of open files to the hard one. Returns the limit in force, where there is one.
#[cfg(unix)]
#[allow(unsafe_code)] // The limits of this process have no safe interface in the standard library.
pub fn raise_limit() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls only read or write the struct they are given, which lives for the whole call.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) != 0 {
            return None;
        }
        let wanted = libc::rlimit { rlim_cur: limit.rlim_max, rlim_max: limit.rlim_max };
        if libc::setrlimit(libc::RLIMIT_NOFILE, &wanted) == 0 {
            limit = wanted;
        }
    }
    Some(limit.rlim_cur)
}

/// Other systems have no such limit.
#[cfg(not(unix))]
pub fn raise_limit() -> Option<u64> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    #[test]
    fn the_limit_is_known_and_raising_twice_is_harmless() {
        let first = super::raise_limit();
        assert!(first.is_some_and(|limit| limit >= 256));
        assert_eq!(super::raise_limit(), first);
    }
}
