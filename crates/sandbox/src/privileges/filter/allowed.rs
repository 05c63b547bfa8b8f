//! seccomp filter of a guest: a short list of calls that compute and talk over what is open already; anything else
//! kills the process.

use libc::{BPF_JEQ, BPF_JSET, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS, c_long, sock_filter};

use super::{ARCH, ARCHITECTURE, Code, NUMBER, argument};

/// Allowed whatever the arguments.
const ALLOWED: &[c_long] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_ppoll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_brk,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_clock_gettime,
    libc::SYS_getrandom,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigprocmask,
    libc::SYS_sigaltstack,
    libc::SYS_sched_yield,
    libc::SYS_restart_syscall,
];

/// Allowed unless memory that can be executed is asked for.
const MAPPING: &[c_long] = &[libc::SYS_mmap, libc::SYS_mprotect];

/// The filter, or none where the numbers of the calls are not known.
pub(in crate::privileges) fn program() -> Option<Vec<sock_filter>> {
    let mut code = Code(Vec::with_capacity(64));
    code.load(ARCH);
    code.unless_equal(ARCHITECTURE?, SECCOMP_RET_KILL_PROCESS);
    code.load(NUMBER);
    for call in ALLOWED {
        code.answer_if(BPF_JEQ, *call as u32, SECCOMP_RET_ALLOW);
    }
    for call in MAPPING {
        code.for_call(*call, |code| {
            code.load(argument(2));
            code.answer_if(BPF_JSET, libc::PROT_EXEC as u32, SECCOMP_RET_KILL_PROCESS);
        });
    }
    code.answer(SECCOMP_RET_KILL_PROCESS);
    Some(code.0)
}
