//! Group commit: the one thread that writes takes all batches that wait, runs them in one transaction, commits once,
//! and only then tells the callers. Batches rarely fail, and undoing one of them alone costs all of them dearly: only
//! when one did fail are they run again, each in a savepoint.

mod fault;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base::clock::Clock;
use base::limits;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::{error, run};
use crate::changes::Changes;
use crate::leases::Fences;
use crate::metrics::Metrics;
use crate::sql::{Batch, Row, Written};
use crate::{Error, Result};
use fault::Fault;

/// The handle of the thread. Dropping it finishes what is queued and joins the thread.
pub(super) struct Writer {
    queue: Option<mpsc::Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread tells of its commits, and the leases its batches depend on.
pub(super) struct Watch {
    pub metrics: Arc<Metrics>,
    pub changes: Changes,
    pub fences: Arc<Fences>,
}

enum Order {
    Write(Job),
    Checkpoint(oneshot::Sender<Result<()>>),
}

struct Job {
    batch: Batch,
    asked_at: Instant,
    reply: oneshot::Sender<Result<Written>>,
}

impl Writer {
    pub fn start(connection: Connection, watch: Watch) -> std::io::Result<Writer> {
        let (queue, orders) = mpsc::channel(limits::store::QUEUE_MAX);
        let thread = std::thread::Builder::new()
            .name("store-writer".to_string())
            .stack_size(512 * 1024)
            .spawn(move || serve(connection, orders, &watch))?;
        Ok(Writer { queue: Some(queue), thread: Some(thread) })
    }

    pub async fn write(&self, batch: Batch) -> Result<Written> {
        let (reply, answer) = oneshot::channel();
        self.ask(Order::Write(Job { batch, asked_at: Clock::system().instant(), reply }), answer).await
    }

    /// Waits for everything queued before, then moves the log into the database file.
    pub async fn checkpoint(&self) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.ask(Order::Checkpoint(reply), answer).await
    }

    pub fn queue_length(&self) -> usize {
        self.queue.as_ref().map_or(0, |queue| queue.max_capacity() - queue.capacity())
    }

    async fn ask<T>(&self, order: Order, answer: oneshot::Receiver<Result<T>>) -> Result<T> {
        let gone = || Error::Failed("the store's writer has stopped".to_string());
        let queue = self.queue.as_ref().ok_or_else(gone)?;
        match queue.send_timeout(order, limits::store::TIMEOUT).await {
            Ok(()) => {}
            Err(mpsc::error::SendTimeoutError::Timeout(_)) => return Err(overdue()),
            Err(mpsc::error::SendTimeoutError::Closed(_)) => return Err(gone()),
        }
        // The writer itself refuses what has waited too long, so this limit is reached only when the disk hangs.
        match tokio::time::timeout(limits::store::TIMEOUT * 2, answer).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(gone()),
            Err(_) => Err(Error::Failed("the disk does not answer; it may still be written".to_string())),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's writer panicked");
        }
    }
}

/// How long ago that was. Disks know no virtual time.
fn waited(since: Instant) -> Duration {
    Clock::system().instant().saturating_duration_since(since)
}

fn overdue() -> Error {
    Error::Failed("the store is overloaded: nothing was written; try again".to_string())
}

fn serve(connection: Connection, mut orders: mpsc::Receiver<Order>, watch: &Watch) {
    let mut group = Vec::new();
    let mut fault = Fault::from_env();
    let group_max = fault.group_max(limits::store::BATCH_MAX);
    while orders.blocking_recv_many(&mut group, group_max) > 0 {
        let mut jobs = Vec::with_capacity(group.len());
        let mut checkpoints = Vec::new();
        for order in group.drain(..) {
            match order {
                Order::Write(job) if waited(job.asked_at) > limits::store::TIMEOUT => {
                    answer(job.reply, Err(overdue()));
                }
                Order::Write(job) => jobs.push(job),
                Order::Checkpoint(reply) => checkpoints.push(reply),
            }
        }
        if !jobs.is_empty() {
            write_group(&connection, jobs, watch, &mut fault);
        }
        for reply in checkpoints {
            let result = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").map_err(error);
            answer(reply, result);
        }
    }
}

/// Runs the jobs in one transaction. Whatever ends the transaction as a whole fails all of them.
fn write_group(connection: &Connection, jobs: Vec<Job>, watch: &Watch, fault: &mut Fault) {
    let results = begin(connection).and_then(|()| {
        let results = match write_all(connection, &jobs, watch) {
            Some(results) => results,
            None => {
                roll_back(connection);
                begin(connection)?;
                jobs.iter().map(|job| write_one(connection, &job.batch, watch)).collect::<Result<_>>()?
            }
        };
        fault.before(jobs.iter().map(|job| &job.batch));
        let started = Clock::system().instant();
        connection.prepare_cached("COMMIT").and_then(|mut commit| commit.raw_execute()).map_err(error)?;
        fault.after();
        watch.metrics.commit(waited(started));
        Ok(results)
    });
    match results {
        Ok(results) => {
            for (job, result) in jobs.into_iter().zip(results) {
                if let Ok(Written::Done(rows)) = &result {
                    watch.committed(&job.batch, rows);
                }
                answer(job.reply, result);
            }
        }
        Err(error) => {
            roll_back(connection);
            for job in jobs {
                // A commit that failed may have reached the disk.
                watch.changes.bump_all(job.batch.topics);
                answer(job.reply, Err(error.clone()));
            }
        }
    }
}

impl Watch {
    /// Before the next batch is run: a lease that ended with this one lets nobody write any more.
    fn committed(&self, batch: &Batch, rows: &[Vec<Row>]) {
        let ended = batch.ends_leases.and_then(|step| rows.get(step)).into_iter().flatten();
        for name in ended.filter_map(Row::first_text) {
            self.fences.end(name);
        }
        self.changes.bump_all(batch.topics);
    }
}

fn begin(connection: &Connection) -> Result<()> {
    connection
        .prepare_cached("BEGIN IMMEDIATE")
        .and_then(|mut begin| begin.raw_execute())
        .map(|_| ())
        .map_err(error)
}

fn roll_back(connection: &Connection) {
    if !connection.is_autocommit()
        && let Err(error) = connection.execute_batch("ROLLBACK")
    {
        tracing::error!(%error, "the store's writer cannot roll back");
    }
}

/// Runs all batches; nothing when one of them did not go through.
fn write_all(connection: &Connection, jobs: &[Job], watch: &Watch) -> Option<Vec<Result<Written>>> {
    let write = |job: &Job| match run_steps(connection, &job.batch, watch) {
        Ok(written @ Written::Done(_)) => Some(Ok(written)),
        Ok(Written::Stopped(_)) | Err(_) => None,
    };
    jobs.iter().map(write).collect()
}

/// Runs one batch in a savepoint. The outer error means that the whole transaction is lost.
fn write_one(connection: &Connection, batch: &Batch, watch: &Watch) -> Result<Result<Written>> {
    let control = |sql| {
        connection
            .prepare_cached(sql)
            .and_then(|mut prepared| prepared.raw_execute())
            .map(|_| ())
            .map_err(error)
    };
    control("SAVEPOINT job")?;
    let result = run_steps(connection, batch, watch);
    if connection.is_autocommit() {
        // A full disk makes SQLite roll back everything, not only this savepoint.
        return match result {
            Err(error) => Err(error),
            Ok(_) => Err(Error::Failed("the database ended the transaction".to_string())),
        };
    }
    if !matches!(result, Ok(Written::Done(_))) {
        control("ROLLBACK TO job")?;
    }
    control("RELEASE job")?;
    Ok(result)
}

fn run_steps(connection: &Connection, batch: &Batch, watch: &Watch) -> Result<Written> {
    if let Some(lease) = batch.lease.as_ref().filter(|lease| !watch.fences.is_held(lease)) {
        return Err(lease.lost());
    }
    let mut all = Vec::with_capacity(batch.steps.len());
    for (index, step) in batch.steps.iter().enumerate() {
        let rows = run(connection, &step.statement)?;
        if step.guarded && rows.is_empty() {
            return Ok(Written::Stopped(index));
        }
        all.push(rows);
    }
    Ok(Written::Done(all))
}

/// A caller that stopped waiting does not need its answer.
fn answer<T>(reply: oneshot::Sender<Result<T>>, result: Result<T>) {
    if reply.send(result).is_err() {
        tracing::debug!("nobody waits for this write any more");
    }
}

#[cfg(test)]
mod tests;
