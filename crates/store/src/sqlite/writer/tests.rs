//! Tests of group commit: which batches fail together, and that the writer goes on afterwards.

use super::*;
use crate::sql::Statement;

type Answer = oneshot::Receiver<Result<Written>>;

fn database() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE notes (name TEXT PRIMARY KEY, body TEXT)").unwrap();
    connection
}

fn note(name: &str, body: &str) -> Statement {
    Statement::new("INSERT INTO notes (name, body) VALUES ($1, $2)").bind(name).bind(body)
}

fn watch() -> Watch {
    Watch { metrics: Arc::default(), changes: Changes::default(), fences: Arc::default() }
}

fn job(batch: Batch) -> (Job, Answer) {
    let (reply, answer) = oneshot::channel();
    (Job { batch, asked_at: Clock::system().instant(), reply }, answer)
}

fn group(connection: &Connection, batches: Vec<Batch>) -> Vec<Result<Written>> {
    let (jobs, answers): (Vec<Job>, Vec<Answer>) = batches.into_iter().map(job).unzip();
    write_group(connection, jobs, &watch(), &mut Fault::from_env());
    answers.into_iter().map(|mut answer| answer.try_recv().unwrap()).collect()
}

fn names(connection: &Connection) -> Vec<String> {
    let rows = run(connection, &Statement::new("SELECT name FROM notes ORDER BY name")).unwrap();
    rows.into_iter().map(|mut row| row.text().unwrap()).collect()
}

#[test]
fn a_failing_batch_of_a_group_is_undone_alone() {
    let connection = database();
    let twice = Batch::new().step(note("b", "")).step(note("a", ""));
    let stopped = Batch::new().step(note("c", "")).guard(Statement::new("SELECT 1 WHERE 1 = 0"));
    let results = group(
        &connection,
        vec![Batch::new().step(note("a", "")), twice, stopped, Batch::new().step(note("d", ""))],
    );
    assert!(matches!(results[0], Ok(Written::Done(_))));
    assert!(matches!(&results[1], Err(Error::Conflict(what)) if what == "notes.name"), "{:?}", results[1]);
    assert!(matches!(results[2], Ok(Written::Stopped(1))));
    assert!(matches!(results[3], Ok(Written::Done(_))));
    assert_eq!(names(&connection), ["a", "d"]);
}

#[test]
fn a_full_disk_fails_the_group_and_the_next_one_goes_on() {
    let connection = database();
    connection.execute_batch("PRAGMA max_page_count = 10").unwrap();
    let big = "x".repeat(100_000);
    let results =
        group(&connection, vec![Batch::new().step(note("a", "")), Batch::new().step(note("b", &big))]);
    for result in results {
        assert!(matches!(&result, Err(Error::Failed(why)) if why.contains("disk is full")), "{result:?}");
    }
    assert_eq!(names(&connection), Vec::<String>::new());
    let results = group(&connection, vec![Batch::new().step(note("c", ""))]);
    assert!(matches!(results[0], Ok(Written::Done(_))), "{:?}", results[0]);
    assert_eq!(names(&connection), ["c"]);
}

#[test]
fn a_failing_commit_fails_the_whole_group() {
    let connection = database();
    connection
        .execute_batch(
            "PRAGMA foreign_keys = ON;
             CREATE TABLE tags (name TEXT REFERENCES notes (name) DEFERRABLE INITIALLY DEFERRED)",
        )
        .unwrap();
    let orphan = Batch::new().step(Statement::new("INSERT INTO tags (name) VALUES ($1)").bind("nobody"));
    let results = group(&connection, vec![Batch::new().step(note("a", "")), orphan]);
    assert!(results.iter().all(|result| matches!(result, Err(Error::Failed(_)))), "{results:?}");
    assert!(connection.is_autocommit());
    assert_eq!(names(&connection), Vec::<String>::new());
}

#[tokio::test]
async fn dropping_the_writer_finishes_what_is_queued() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notes.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE notes (name TEXT PRIMARY KEY, body TEXT)").unwrap();
    let writer = Writer::start(connection, watch()).unwrap();
    for name in ["a", "b", "c"] {
        let (job, _nobody_waits) = job(Batch::new().step(note(name, "")));
        writer.queue.as_ref().unwrap().try_send(Order::Write(job)).ok().unwrap();
    }
    drop(writer);
    assert_eq!(names(&Connection::open(&path).unwrap()), ["a", "b", "c"]);
}

#[test]
fn a_missing_value_is_an_error() {
    let statement = Statement::new("SELECT $1, $2").bind(1i64);
    assert!(matches!(run(&database(), &statement), Err(Error::Failed(why)) if why.contains("missing")));
}
