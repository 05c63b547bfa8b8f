//! seccomp filter: a classic BPF program over the number and the arguments of each system call.
//!
//! What it refuses is what could undo the sandbox, reach the machine behind it, or needs rights nobody inside has and
//! has been a way into the kernel. The program is one list of comparisons that ends in "allow"; calls that are newer than
//! the list are not there (`ENOSYS`), so a kernel that learns new ones opens nothing.

pub(super) mod allowed;

use libc::{
    BPF_ABS, BPF_JEQ, BPF_JGE, BPF_JGT, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W, SECCOMP_RET_ALLOW,
    SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS, c_long, sock_filter,
};

/// Which kinds of sockets can be made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Families {
    /// Unix, IPv4, IPv6, and netlink for lists of interfaces: for a network namespace of its own.
    Local,
    /// Unix alone: where the machine's network would be reached.
    Unix,
}

/// Refused with `EPERM`, whatever the arguments.
const REFUSED: &[c_long] = &[
    // The view of the files.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    OPEN_TREE_ATTR,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    // Namespaces.
    libc::SYS_setns,
    libc::SYS_unshare,
    // Other processes, beyond what debuggers need.
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_vm_writev,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_mbind,
    // Keys of the user's session.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Parts of the kernel that only administrators and exploits use.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_reboot,
    libc::SYS_vhangup,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_nfsservctl,
    LSM_SET_SELF_ATTR,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS__sysctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ustat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_sysfs,
];

/// Answered as if the kernel did not know them: programs then do without.
const UNKNOWN: &[c_long] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Its flags are behind a pointer, where a filter cannot see them.
    libc::SYS_clone3,
];

const OPEN_TREE_ATTR: c_long = 467;
const LSM_SET_SELF_ATTR: c_long = 460;
/// The newest call that was looked at: `file_setattr`. From 424 on all processors count alike.
const NEWEST: c_long = 469;
#[cfg(target_arch = "x86_64")]
const X32_BIT: u32 = 0x4000_0000;

/// `CLONE_NEW*`: every flag of `clone` that makes a namespace.
const NEW_NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;

const TIOCSTI: u32 = 0x5412;
const TIOCLINUX: u32 = 0x541c;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_00b7);
#[cfg(target_arch = "riscv64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_00f3);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
const ARCHITECTURE: Option<u32> = None;

/// Offsets in `struct seccomp_data`; of an argument, its low half: the kernel looks at no more of these.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

/// The filter, or none where the numbers of the calls are not known.
pub(super) fn program(families: Families) -> Option<Vec<sock_filter>> {
    let mut code = Code(Vec::with_capacity(256));
    code.load(ARCH);
    code.unless_equal(ARCHITECTURE?, SECCOMP_RET_KILL_PROCESS);
    code.load(NUMBER);
    #[cfg(target_arch = "x86_64")]
    code.answer_if(BPF_JGE, X32_BIT, errno(libc::ENOSYS));
    code.answer_if(BPF_JGT, NEWEST as u32, errno(libc::ENOSYS));
    for call in REFUSED {
        code.answer_if(BPF_JEQ, *call as u32, errno(libc::EPERM));
    }
    for call in UNKNOWN {
        code.answer_if(BPF_JEQ, *call as u32, errno(libc::ENOSYS));
    }
    code.for_call(libc::SYS_clone, |code| {
        code.load(argument(0));
        code.answer_if(BPF_JSET, NEW_NAMESPACES, errno(libc::EPERM));
    });
    code.for_call(libc::SYS_ioctl, |code| {
        code.load(argument(1));
        code.answer_if(BPF_JEQ, TIOCSTI, errno(libc::EPERM));
        code.answer_if(BPF_JEQ, TIOCLINUX, errno(libc::EPERM));
    });
    for call in [libc::SYS_socket, libc::SYS_socketpair] {
        code.for_call(call, |code| sockets(code, families));
    }
    code.answer(SECCOMP_RET_ALLOW);
    Some(code.0)
}

fn sockets(code: &mut Code, families: Families) {
    code.load(argument(0));
    code.answer_if(BPF_JEQ, libc::AF_UNIX as u32, SECCOMP_RET_ALLOW);
    if families == Families::Local {
        code.answer_if(BPF_JEQ, libc::AF_INET as u32, SECCOMP_RET_ALLOW);
        code.answer_if(BPF_JEQ, libc::AF_INET6 as u32, SECCOMP_RET_ALLOW);
        code.unless_equal(libc::AF_NETLINK as u32, errno(libc::EAFNOSUPPORT));
        code.load(argument(2));
        code.answer_if(BPF_JEQ, libc::NETLINK_ROUTE as u32, SECCOMP_RET_ALLOW);
        code.answer_if(BPF_JEQ, libc::NETLINK_SOCK_DIAG as u32, SECCOMP_RET_ALLOW);
    }
    code.answer(errno(libc::EAFNOSUPPORT));
}

const fn errno(number: i32) -> u32 {
    SECCOMP_RET_ERRNO | number as u32
}

/// A program that is being written.
struct Code(Vec<sock_filter>);

impl Code {
    fn push(&mut self, code: u32, jt: u8, jf: u8, k: u32) {
        self.0.push(sock_filter { code: code as u16, jt, jf, k });
    }

    fn load(&mut self, offset: u32) {
        self.push(BPF_LD | BPF_W | BPF_ABS, 0, 0, offset);
    }

    fn answer(&mut self, answer: u32) {
        self.push(BPF_RET | BPF_K, 0, 0, answer);
    }

    /// Answers if the comparison of what was loaded holds, else goes on.
    fn answer_if(&mut self, comparison: u32, value: u32, answer: u32) {
        self.push(BPF_JMP | comparison | BPF_K, 0, 1, value);
        self.answer(answer);
    }

    fn unless_equal(&mut self, value: u32, answer: u32) {
        self.push(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, value);
        self.answer(answer);
    }

    /// Instructions for one call, which may load arguments; a call that they do not answer is allowed.
    fn for_call(&mut self, call: c_long, instructions: impl FnOnce(&mut Code)) {
        let mut inner = Code(Vec::new());
        instructions(&mut inner);
        inner.answer(SECCOMP_RET_ALLOW);
        let length = u8::try_from(inner.0.len()).unwrap_or(u8::MAX);
        self.push(BPF_JMP | BPF_JEQ | BPF_K, 0, length, call as u32);
        self.0.append(&mut inner.0);
    }
}

#[cfg(test)]
mod tests;
