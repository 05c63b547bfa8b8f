//! Tests of a command session without any child or interpreter.

use std::sync::Mutex;

use protocol::shell::Status;

use super::*;

/// The events that were told.
type Told = Arc<Mutex<Vec<String>>>;

fn session(output_bytes_max: usize) -> (Session, mpsc::Receiver<Vec<u8>>, Told) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = told.clone();
    let about = About {
        id: "sh_1".into(),
        cwd: "/home/alice".into(),
        pid: None,
        call_id: None,
        output_bytes_max,
        clock: Clock::manual(1_000),
        tell: Arc::new(move |status| heard.lock().unwrap().push(status.event)),
    };
    let (session, stdin) = Session::begin(about);
    (session, stdin, told)
}

#[tokio::test]
async fn an_end_is_told_only_to_those_who_know_the_command() {
    let (session, _stdin, told) = session(100);
    session.push(Stream::Stdout, b"out");
    session.push(Stream::Stderr, b"err");
    session.finish(End { exit_code: Some(0), ..End::default() });
    session.push(Stream::Stdout, b"late");
    let (result, _) = session.answer(false);
    assert_eq!((result.status, result.output.as_str()), (Status::Completed, "outerr"));
    assert_eq!((result.stdout.as_deref(), result.stderr.as_deref()), (Some("out"), Some("err")));
    assert!(told.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_first_end_counts_and_says_why() {
    let (session, _stdin, told) = session(100);
    assert_eq!(session.answer(false).0.status, Status::Running);
    let end = End {
        exit_code: Some(137),
        error: Some("too much".into()),
        cwd: Some("/tmp".into()),
        ..End::default()
    };
    session.finish(end);
    session.finish(End { exit_code: Some(0), ..End::default() });
    let (result, _) = session.answer(false);
    assert_eq!((result.status, result.exit_code), (Status::Failed, Some(137)));
    assert_eq!((result.error.as_deref(), result.cwd.as_deref()), (Some("too much"), Some("/tmp")));
    assert_eq!(*told.lock().unwrap(), ["started", "failed"]);
}

#[tokio::test]
async fn a_writer_waits_for_its_reader_and_loses_nothing() {
    let (session, _stdin, _) = session(8);
    let session = Arc::new(session);
    session.push(Stream::Stdout, b"123456789");
    assert!(session.is_held());
    let writer = session.clone();
    let writing = tokio::spawn(async move {
        writer.wait_for_room().await;
        writer.push(Stream::Stdout, b"abc");
    });
    let (first, _) = session.answer(false);
    let clock = session.about.clock.clone();
    let wait = Duration::from_secs(1);
    tokio::join!(session.wait_for_news(wait), clock.pass(wait));
    writing.await.unwrap();
    let (second, _) = session.answer(false);
    assert_eq!(first.output + &second.output, "123456789abc");
}

#[tokio::test]
async fn a_writer_nobody_listens_to_goes_on_and_keeps_the_tail() {
    let (session, _stdin, _) = session(8);
    session.push(Stream::Stdout, b"123456789");
    let clock = session.about.clock.clone();
    tokio::join!(session.wait_for_room(), clock.pass(limits::shell::UNREAD_WAIT));
    session.push(Stream::Stdout, b"abc");
    let (result, _) = session.answer(false);
    assert!(result.output.ends_with("56789abc"), "{}", result.output);
    assert_eq!(result.truncated, Some(true));
}

#[tokio::test]
async fn stdin_has_bounds_and_an_end() {
    let (session, mut stdin, _) = session(8);
    session.write("a\n").unwrap();
    assert_eq!(stdin.recv().await.as_deref(), Some(&b"a\n"[..]));
    for _ in 0..limits::shell::STDIN_WRITES_MAX {
        session.write("x").unwrap();
    }
    assert_eq!(session.write("x"), Err(StdinRefused::Full));
    session.close_stdin();
    assert_eq!(session.write("x"), Err(StdinRefused::Closed));
}
