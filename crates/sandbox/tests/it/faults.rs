//! Fault injection: each system call that the set-up makes fails in turn, and the command is never started.

use sandbox::{Confined, Mode, Outcome};

use crate::stage::Stage;

const FULL: &[libc::c_long] = &[
    libc::SYS_recvmsg,
    libc::SYS_close_range,
    libc::SYS_prctl,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_rt_sigprocmask,
    libc::SYS_pipe2,
    libc::SYS_clone,
    libc::SYS_signalfd4,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_openat2,
    libc::SYS_openat,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_mkdirat,
    libc::SYS_symlinkat,
    libc::SYS_readlink,
    libc::SYS_getdents64,
    libc::SYS_chdir,
    libc::SYS_capset,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
    libc::SYS_seccomp,
    libc::SYS_setsid,
    libc::SYS_prlimit64,
    libc::SYS_execve,
];

const LANDLOCK: &[libc::c_long] = &[
    libc::SYS_recvmsg,
    libc::SYS_close_range,
    libc::SYS_prctl,
    libc::SYS_rt_sigprocmask,
    libc::SYS_clone,
    libc::SYS_chdir,
    libc::SYS_openat,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
    libc::SYS_seccomp,
    libc::SYS_setsid,
    libc::SYS_prlimit64,
    libc::SYS_execve,
];

#[test]
fn a_command_whose_set_up_fails_anywhere_is_never_started() {
    let stage = Stage::new();
    let marker = stage.workspace.join("started");
    for (mode, calls) in [(Mode::Full, FULL), (Mode::Landlock, LANDLOCK)] {
        let mut spec = stage.spec(&["/bin/sh", "-c", "echo x > started"]);
        spec.mode = mode;
        let fine = stage.run(&spec);
        assert_eq!((fine.outcome.clone(), fine.code), (Outcome::Started, Some(0)), "{fine:?}");
        for call in calls {
            std::fs::remove_file(&marker).ok();
            let Confined { mut command, setup } = stage.confined(&spec);
            command.env("SANDBOX_TEST_FAULT", call.to_string());
            let output = command.output().expect("a child");
            let outcome = setup.outcome();
            assert!(matches!(outcome, Outcome::NotStarted(_)), "{mode:?} {call}: {outcome:?} {output:?}");
            assert!(!output.status.success() && !marker.exists(), "{mode:?} {call}: {outcome:?}");
        }
    }
}

/// Calls that are made many times during a set-up: each single time fails in a run of its own.
const REPEATED: &[libc::c_long] = &[
    libc::SYS_prctl,
    libc::SYS_setns,
    libc::SYS_clone,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_openat2,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_symlinkat,
    libc::SYS_mkdirat,
    libc::SYS_landlock_add_rule,
    libc::SYS_close_range,
    libc::SYS_prlimit64,
];

/// More often than this no call is made.
const TIMES_MAX: usize = 300;

#[test]
fn a_set_up_that_fails_at_any_single_step_starts_nothing() {
    let stage = Stage::new();
    let marker = stage.workspace.join("started");
    let spec = stage.spec(&["/bin/sh", "-c", "echo x > started"]);
    for call in REPEATED {
        let mut times = 0;
        loop {
            std::fs::remove_file(&marker).ok();
            let Confined { mut command, setup } = stage.confined(&spec);
            command.env("SANDBOX_TEST_FAULT", format!("{call}:{times}"));
            let output = command.output().expect("a child");
            match setup.outcome() {
                Outcome::NotStarted(_) => {
                    assert!(!marker.exists() && !output.status.success(), "{call}:{times}")
                }
                Outcome::Started => break,
                other => panic!("{call}:{times}: {other:?}"),
            }
            times += 1;
            assert!(times < TIMES_MAX, "{call}");
        }
        // As often as it was made, it has failed once; that the command starts then shows that there is no more.
        assert!(times > 0, "{call} is not made at all");
    }
}

#[test]
fn a_network_that_cannot_be_made_says_why() {
    let nothing = sandbox::Sandbox::with_helper("/bin/true".into()).network().expect_err("it is no helper");
    assert!(nothing.to_string().contains("without an answer"), "{nothing}");
    let missing =
        sandbox::Sandbox::with_helper("/no/such/helper".into()).network().expect_err("it is not there");
    assert_eq!(missing.kind(), std::io::ErrorKind::NotFound);
}
