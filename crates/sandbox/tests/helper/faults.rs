//! Fault injection: one system call fails from now on, always or the n-th time only, in this process and all it becomes.
//!
//! A filter cannot count. For the n-th time it asks another process (user notification), which counts for it.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};

use crate::attempts::checked;

const RECEIVE: libc::c_ulong = 0xc050_2100;
const ANSWER: libc::c_ulong = 0xc018_2101;
const GO_ON: u32 = 1;

/// `NUMBER` has a call always fail, `NUMBER:COUNT` after it has succeeded so often.
pub fn break_call(what: &str) {
    let (number, count) = match what.split_once(':') {
        Some((number, count)) => (number, Some(count.parse().expect("a number"))),
        None => (what, None),
    };
    let number: u32 = number.parse().expect("a number");
    let Some(count) = count else {
        install(number, libc::SECCOMP_RET_ERRNO | libc::EIO as u32, 0).expect("a filter");
        return;
    };
    let (ours, theirs) = UnixStream::pair().expect("sockets");
    if unsafe { libc::fork() } == 0 {
        drop(ours);
        decide(&theirs, count);
        unsafe { libc::_exit(0) };
    }
    drop(theirs);
    let listener = install(number, libc::SECCOMP_RET_USER_NOTIF, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
    let listener = unsafe { OwnedFd::from_raw_fd(listener.expect("a filter") as i32) };
    let descriptors = [listener.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
    rustix::net::sendmsg(&ours, &[IoSlice::new(b"x")], &mut control, SendFlags::empty()).expect("sent");
}

/// Installs a filter that answers one call in a way and allows all others.
fn install(number: u32, answer: u32, flags: libc::c_ulong) -> io::Result<libc::c_long> {
    let step = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let steps = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, number),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, answer),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_ptr().cast_mut() };
    checked(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())?;
    let set = libc::SECCOMP_SET_MODE_FILTER;
    checked(unsafe { libc::syscall(libc::SYS_seccomp, set, flags, &raw const program) })
}

/// Lets the call succeed so often, fail once, and succeed from then on, until nobody is left who makes it.
fn decide(socket: &UnixStream, count: u64) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    rustix::net::recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::empty())
        .expect("received");
    let listener = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut list) => list.next(),
        _ => None,
    });
    let listener = listener.expect("a descriptor");
    // Whoever waits for the end of these shall not wait for this process.
    for fd in (0..64).filter(|fd| *fd != listener.as_raw_fd()) {
        unsafe { libc::close(fd) };
    }
    let mut seen = 0;
    loop {
        let mut waiting = libc::pollfd { fd: listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        unsafe { libc::poll(&raw mut waiting, 1, -1) };
        if waiting.revents & libc::POLLIN == 0 {
            return;
        }
        let mut asked: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        let mut answer: libc::seccomp_notif_resp = unsafe { std::mem::zeroed() };
        if unsafe { libc::ioctl(listener.as_raw_fd(), RECEIVE, &raw mut asked) } == -1 {
            continue;
        }
        answer.id = asked.id;
        if seen == count {
            answer.error = -libc::EIO
        } else {
            answer.flags = GO_ON
        }
        seen += 1;
        unsafe { libc::ioctl(listener.as_raw_fd(), ANSWER, &raw mut answer) };
    }
}
