//! Landlock mode: what it stops, and that what it does not promise is not promised.

use sandbox::{Mode, Outcome, Spec};

use crate::stage::{HELPER, SECRET, Stage, shells};

fn spec(stage: &Stage, command: &[&str]) -> Spec {
    let mut spec = stage.spec(command);
    spec.mode = Mode::Landlock;
    spec
}

#[test]
fn contents_outside_cannot_be_changed_and_secrets_not_read() {
    let stage = Stage::new();
    let before = stage.canaries();
    let script = "echo x > new; echo x > $OUT/file; echo x > $OUT/new; rm $OUT/file; truncate -s 0 $OUT/file; \
                  mkdir $OUT/d; ln $OUT/file h; mv $OUT/file t; ln -s $OUT l; echo x > l/file; \
                  cat $HOME/.ssh/id $OUT/keys $OUT/aws/credentials $HOME/.aws/credentials; cat $HOME/.gitconfig";
    for shell in shells() {
        let done = stage.run(&spec(&stage, &[shell, "-c", script]));
        assert_eq!(done.outcome, Outcome::Started, "{done:?}");
        assert!(stage.workspace.join("new").exists() && done.out.contains("example.org"), "{done:?}");
        assert!(!done.out.contains(SECRET) && !stage.secret_is_out(), "{done:?}");
        assert_eq!(stage.canaries(), before, "{done:?}");
    }
}

#[test]
fn it_has_no_network_no_new_privileges_and_leaves_nothing_behind() {
    let stage = Stage::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a socket");
    listener.set_nonblocking(true).expect("a flag");
    let address = listener.local_addr().expect("one").to_string();
    for word in ["tcp", "udp"] {
        let done = stage.run(&spec(&stage, &[HELPER, word, &address]));
        assert_eq!(done.errno(), Some(libc::EAFNOSUPPORT), "{done:?}");
    }
    assert!(listener.accept().is_err());
    let user = libc::CLONE_NEWUSER.to_string();
    let done = stage.run(&spec(&stage, &[HELPER, "call", &libc::SYS_unshare.to_string(), &user]));
    assert_eq!(done.errno(), Some(libc::EPERM), "{done:?}");
    let token = format!("LANDLOCK-{}", std::process::id());
    let mut left = spec(&stage, &["/bin/sh", "-c", "(setsid sleep 600 &) ; sleep 600 & $HELPER linger"]);
    left.env.push(("TOKEN".into(), token.clone().into()));
    let done = stage.run(&left);
    assert_eq!(done.outcome, Outcome::Started);
    assert!(!crate::processes::alive(&token), "{done:?}");
    let done = stage.run(&spec(&stage, &["/bin/sh", "-c", "kill -TERM $$"]));
    assert_eq!(done.signal, Some(libc::SIGTERM));
}
