//! Escape corpus, kernel: mounts, namespaces, privileges, other interfaces of the kernel, `/proc`.

use std::os::unix::fs::PermissionsExt;

use crate::stage::{HELPER, Stage};

const EPERM: Option<i32> = Some(libc::EPERM);
const ENOSYS: Option<i32> = Some(libc::ENOSYS);

#[test]
fn calls_that_could_undo_the_sandbox_are_refused() {
    let stage = Stage::new();
    let cwd = libc::AT_FDCWD.to_string();
    let mut cases: Vec<(libc::c_long, Vec<&str>, Option<i32>)> = vec![
        (libc::SYS_mount, vec!["s:none", "s:/tmp", "s:tmpfs", "0", "0"], EPERM),
        (libc::SYS_mount, vec!["s:none", "s:/", "s:none", "4128", "0"], EPERM),
        (libc::SYS_umount2, vec!["s:/proc", "2"], EPERM),
        (libc::SYS_pivot_root, vec!["s:.", "s:."], EPERM),
        (libc::SYS_chroot, vec!["s:."], EPERM),
        (libc::SYS_open_tree, vec![&cwd, "s:/", "1"], EPERM),
        (libc::SYS_move_mount, vec![&cwd, "s:/tmp", &cwd, "s:/", "0"], EPERM),
        (libc::SYS_fsopen, vec!["s:tmpfs", "0"], EPERM),
        (libc::SYS_fsmount, vec!["0", "0", "0"], EPERM),
        (libc::SYS_fspick, vec![&cwd, "s:/", "0"], EPERM),
        (libc::SYS_mount_setattr, vec![&cwd, "s:/", "0", "0", "0"], EPERM),
        (libc::SYS_open_by_handle_at, vec![&cwd, "0", "0"], EPERM),
        (libc::SYS_name_to_handle_at, vec![&cwd, "s:/", "0", "0", "0"], EPERM),
        (libc::SYS_setns, vec!["0", "0"], EPERM),
        (libc::SYS_clone3, vec!["0", "0"], ENOSYS),
        (libc::SYS_io_uring_setup, vec!["8", "0"], ENOSYS),
        (libc::SYS_io_uring_enter, vec!["0"], ENOSYS),
        (libc::SYS_bpf, vec!["0", "0", "0"], EPERM),
        (libc::SYS_perf_event_open, vec!["0", "0", "0", "0", "0"], EPERM),
        (libc::SYS_userfaultfd, vec!["1"], EPERM),
        (libc::SYS_keyctl, vec!["0", "-3", "0"], EPERM),
        (libc::SYS_add_key, vec!["s:user", "s:x", "s:y", "1", "-3"], EPERM),
        (libc::SYS_request_key, vec!["s:user", "s:x", "0", "0"], EPERM),
        (libc::SYS_pidfd_getfd, vec!["0", "0", "0"], EPERM),
        (libc::SYS_kcmp, vec!["1", "1", "0", "0", "0"], EPERM),
        (libc::SYS_sethostname, vec!["s:x", "1"], EPERM),
        (libc::SYS_syslog, vec!["3", "0", "0"], EPERM),
        (libc::SYS_init_module, vec!["0", "0", "s:"], EPERM),
        (libc::SYS_swapoff, vec!["s:/x"], EPERM),
        (libc::SYS_ioctl, vec!["0", "21522", "s:x"], EPERM),
        (libc::SYS_ioctl, vec!["0", "4294988818", "s:x"], EPERM),
        (libc::SYS_ioctl, vec!["0", "21532", "s:x"], EPERM),
        (100_000, vec![], ENOSYS),
    ];
    let flags: Vec<String> = [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ]
    .map(|flag| flag.to_string())
    .into();
    for flag in &flags {
        cases.push((libc::SYS_unshare, vec![flag], EPERM));
        cases.push((libc::SYS_clone, vec![flag, "0", "0", "0", "0"], EPERM));
    }
    if cfg!(target_arch = "x86_64") {
        cases.push((libc::SYS_getpid | 0x4000_0000, vec![], ENOSYS));
    }
    for (number, arguments, expected) in cases {
        let done = stage.call(number, &arguments);
        assert_eq!(done.errno(), expected, "{number} {arguments:?}: {done:?}");
    }
}

#[test]
fn another_architecture_is_killed_and_no_filter_loosens_the_first() {
    let stage = Stage::new();
    let done = stage.attempt(&["other-architecture"]);
    assert_eq!(done.signal, Some(libc::SIGSYS), "{done:?}");
    let done = stage.attempt(&["loosen"]);
    assert_eq!(done.errno(), EPERM, "{done:?}");
}

#[test]
fn only_standard_descriptors_are_open() {
    let stage = Stage::new();
    // One that is inherited by mistake: it has no mark that closes it.
    let leak = unsafe { libc::open(c"/".as_ptr(), libc::O_RDONLY) };
    assert!(leak > 2);
    let done = stage.attempt(&["descriptors"]);
    assert_eq!(done.out, "ok 0 1 2\n", "{done:?}");
    unsafe { libc::close(leak) };
}

#[test]
fn there_are_no_capabilities_and_no_way_to_get_some() {
    let stage = Stage::new();
    let done = stage.sh("grep -E '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):' /proc/self/status");
    let lines: Vec<_> = done.out.lines().collect();
    assert_eq!(lines.len(), 7, "{done:?}");
    for line in lines {
        let value = line.split_whitespace().last().expect("a value");
        let expected = match line.split(':').next() {
            Some("NoNewPrivs") => "1",
            Some("Seccomp") => "2",
            _ => "0000000000000000",
        };
        assert_eq!(value, expected, "{line}");
    }
}

#[test]
fn a_set_user_id_program_gives_nothing() {
    let stage = Stage::new();
    let copy = stage.workspace.join("set-id");
    std::fs::copy(HELPER, &copy).expect("a copy");
    let own = unsafe { libc::geteuid() };
    if own == 0 {
        std::os::unix::fs::chown(&copy, Some(65534), Some(65534)).expect("root can");
    }
    std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o6755)).expect("a mode");
    let done = stage.run(&stage.spec(&[copy.to_str().expect("text"), "euid"]));
    assert_eq!(done.out, format!("ok {own}\n"), "{done:?}");
}

#[test]
fn the_machines_settings_cannot_be_written() {
    let stage = Stage::new();
    let cwd = libc::AT_FDCWD.to_string();
    let files = [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/hostname",
        "/proc/sys/kernel/pid_max",
        "/proc/sys/vm/drop_caches",
        "/proc/sysrq-trigger",
        "/proc/irq/default_smp_affinity",
        "/proc/1/mem",
        "/sys/power/state",
        "/sys/kernel/uevent_helper",
        "/dev/mem",
        "/dev/sda",
        "/dev/vda",
    ];
    for file in files {
        let done = stage.call(libc::SYS_openat, &[&cwd, &format!("s:{file}"), "1"]);
        assert!(done.errno().is_some(), "{file}: {done:?}");
    }
    let script = "echo '0 0 1' > /proc/self/uid_map && echo bad; echo allow > /proc/self/setgroups && echo bad; \
                  echo -900 > /proc/self/oom_score_adj && echo bad; echo end";
    let done = stage.sh(script);
    assert_eq!(done.out, "end\n", "{done:?}");
}

#[test]
fn process_1_tells_nothing() {
    let stage = Stage::new();
    let script = "cat /proc/1/comm; cat /proc/1/environ /proc/1/maps; ls /proc/1/root /proc/1/cwd; \
                  readlink /proc/1/exe /proc/1/fd/*; cat /proc/1/fd/*; tr '\\0' ' ' < /proc/1/cmdline; echo";
    let done = stage.sh(script);
    let lines: Vec<_> = done.out.lines().collect();
    assert_eq!(lines.first(), Some(&"gsv-sandbox"), "{done:?}");
    assert_eq!(lines.len(), 2, "{done:?}");
    assert!(!lines[1].contains(stage.workspace.to_str().expect("text")), "{done:?}");
    let done = stage.call(libc::SYS_ptrace, &["16", "1", "0", "0"]);
    assert_eq!(done.errno(), EPERM, "{done:?}");
    let done = stage.sh("kill -9 1; kill -STOP 1; kill -TERM 1; echo alive");
    assert_eq!(done.out, "alive\n", "{done:?}");
}
