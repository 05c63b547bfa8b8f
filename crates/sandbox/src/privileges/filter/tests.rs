//! The filter, run by a small interpreter of BPF: what it answers to calls and arguments.

use super::*;

const ALLOW: u32 = SECCOMP_RET_ALLOW;

fn decide(families: Families, arch: u32, number: u32, arguments: [u64; 3]) -> u32 {
    let mut data = [0_u8; 64];
    data[0..4].copy_from_slice(&number.to_ne_bytes());
    data[4..8].copy_from_slice(&arch.to_ne_bytes());
    for (index, argument) in arguments.iter().enumerate() {
        data[16 + 8 * index..24 + 8 * index].copy_from_slice(&argument.to_ne_bytes());
    }
    let program = program(families).unwrap();
    let (mut at, mut value) = (0, 0_u32);
    loop {
        let step = program[at];
        let jump = |holds: bool| at + 1 + usize::from(if holds { step.jt } else { step.jf });
        at = match u32::from(step.code) {
            code if code == BPF_LD | BPF_W | BPF_ABS => {
                let from = step.k as usize;
                value = u32::from_ne_bytes(data[from..from + 4].try_into().unwrap());
                at + 1
            }
            code if code == BPF_RET | BPF_K => return step.k,
            code if code == BPF_JMP | BPF_JEQ | BPF_K => jump(value == step.k),
            code if code == BPF_JMP | BPF_JGT | BPF_K => jump(value > step.k),
            code if code == BPF_JMP | BPF_JGE | BPF_K => jump(value >= step.k),
            code if code == BPF_JMP | BPF_JSET | BPF_K => jump(value & step.k != 0),
            code => panic!("instruction {code}"),
        };
    }
}

fn call(number: c_long, arguments: [u64; 3]) -> u32 {
    decide(Families::Local, ARCHITECTURE.unwrap(), number as u32, arguments)
}

#[test]
fn everyday_calls_pass_and_listed_ones_do_not() {
    for number in [libc::SYS_read, libc::SYS_openat, libc::SYS_execve, libc::SYS_ptrace, libc::SYS_bind] {
        assert_eq!(call(number, [0; 3]), ALLOW, "{number}");
    }
    for number in REFUSED {
        assert_eq!(call(*number, [0; 3]), errno(libc::EPERM), "{number}");
    }
    for number in UNKNOWN {
        assert_eq!(call(*number, [0; 3]), errno(libc::ENOSYS), "{number}");
    }
    assert_eq!(call(NEWEST, [0; 3]), ALLOW);
    assert_eq!(call(NEWEST + 1, [0; 3]), errno(libc::ENOSYS));
}

#[test]
fn another_architecture_is_killed_and_x32_is_not_there() {
    assert_eq!(decide(Families::Local, 0x4000_0003, libc::SYS_read as u32, [0; 3]), SECCOMP_RET_KILL_PROCESS);
    #[cfg(target_arch = "x86_64")]
    assert_eq!(call(libc::SYS_read | c_long::from(X32_BIT), [0; 3]), errno(libc::ENOSYS));
}

#[test]
fn arguments_are_compared_in_the_half_that_the_kernel_looks_at() {
    let high = 1 << 32;
    for command in [TIOCSTI, TIOCLINUX] {
        assert_eq!(call(libc::SYS_ioctl, [0, u64::from(command), 0]), errno(libc::EPERM));
        assert_eq!(call(libc::SYS_ioctl, [0, u64::from(command) | high, 0]), errno(libc::EPERM));
    }
    assert_eq!(call(libc::SYS_ioctl, [0, 0x5401, 0]), ALLOW);
    for flag in [libc::CLONE_NEWUSER, libc::CLONE_NEWNS, libc::CLONE_NEWPID, libc::CLONE_NEWCGROUP] {
        let flags = (flag | libc::SIGCHLD) as u32;
        assert_eq!(call(libc::SYS_clone, [u64::from(flags) | high, 0, 0]), errno(libc::EPERM), "{flag:x}");
    }
    let thread = (libc::CLONE_VM | libc::CLONE_THREAD | libc::CLONE_SIGHAND | libc::CLONE_SETTLS) as u32;
    assert_eq!(call(libc::SYS_clone, [u64::from(thread), 0, 0]), ALLOW);
}

#[test]
fn sockets_are_of_few_families() {
    let refused = errno(libc::EAFNOSUPPORT);
    let socket = |family: i32, protocol: i32| call(libc::SYS_socket, [family as u64, 1, protocol as u64]);
    for family in [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK] {
        assert_eq!(socket(family, 0), ALLOW, "{family}");
    }
    for family in [libc::AF_VSOCK, libc::AF_ALG, libc::AF_PACKET, libc::AF_BLUETOOTH, libc::AF_CAN, 99] {
        assert_eq!(socket(family, 0), refused, "{family}");
    }
    assert_eq!(socket(libc::AF_NETLINK, libc::NETLINK_AUDIT), refused);
    assert_eq!(call(libc::SYS_socketpair, [libc::AF_UNIX as u64, 1, 0]), ALLOW);
    let unix_only = |family: i32| {
        decide(Families::Unix, ARCHITECTURE.unwrap(), libc::SYS_socket as u32, [family as u64, 2, 0])
    };
    assert_eq!(unix_only(libc::AF_UNIX), ALLOW);
    for family in [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK] {
        assert_eq!(unix_only(family), refused, "{family}");
    }
}
