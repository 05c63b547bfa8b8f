//! Registry and supervisor of actors: starts one when there is mail for its process, and takes the mail in.

pub(crate) mod intake;
pub(crate) mod ipc;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use base::limits;
use base::shutdown::{self, Shutdown, Trigger};
use base::sync::lock;
use gateway::Gateway;
use protocol::error::Error;
use protocol::ids::{Pid, Uid};
use store::processes::{ProcessRow, ProcessState};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot, watch};

use crate::errors::not_found;
use crate::ids::is_init;
use crate::mail::{Mail, NestedCall, Reply};
use crate::world::World;
use crate::{actor, archive};

/// Every process of the gateway. Cheap to clone.
#[derive(Clone)]
pub struct Host {
    pub(crate) world: World,
    actors: Arc<ActorRegistry>,
}

/// The mailboxes of processes that are awake.
struct ActorRegistry {
    awake: Mutex<Mailboxes>,
    /// How many are awake, for whoever waits for the last one.
    count: watch::Sender<usize>,
    stop: Trigger,
    stopping: Shutdown,
}

type Mailboxes = HashMap<Pid, mpsc::Sender<Mail>>;

impl Host {
    /// The processes of a gateway; none is awake yet.
    pub fn start(gateway: &Gateway, client: model::Client) -> Host {
        let (stop, stopping) = shutdown::channel();
        let actors = ActorRegistry { awake: Mutex::default(), count: watch::Sender::new(0), stop, stopping };
        Host { world: World::new(gateway, client), actors: Arc::new(actors) }
    }

    /// After a restart: removes what was left half done, and wakes every process that has something to do.
    pub async fn recover(&self) {
        archive::sweep(&self.world).await;
        let pids = match self.world.store.processes().unfinished().await {
            Ok(pids) => pids,
            Err(error) => {
                tracing::error!(%error, "processes could not be woken; each goes on with its next message");
                return;
            }
        };
        for pid in pids {
            if let Err(error) = self.post(&pid, Mail::Wake).await {
                tracing::warn!(%pid, %error, "a process was not woken");
            }
        }
    }

    /// Lets every process keep what it has and go to sleep. What was under way goes on after the next start.
    pub async fn stop(&self) {
        self.actors.stop.stop();
        let mut count = self.actors.count.subscribe();
        let all_asleep = count.wait_for(|count| *count == 0);
        if self.world.clock.timeout(limits::lifecycle::STOP_TIMEOUT, all_asleep).await.is_err() {
            tracing::warn!(
                "some processes were still busy when the gateway stopped; they go on at the next start"
            );
        }
    }

    /// A user is gone with all rows: ends the actors of its processes, with all they are at.
    pub async fn forget_user(&self, uid: Uid) {
        let awake: Vec<Pid> = lock(&self.actors.awake).keys().cloned().collect();
        let told = awake.iter().map(|pid| async move {
            // One that has noticed by itself drops the mail.
            if let Err(error) = self.ask(pid, |reply| Mail::Forget(uid, reply)).await {
                tracing::debug!(%pid, %error, "a process was gone before it was told to go");
            }
        });
        futures_util::future::join_all(told).await;
    }

    /// How many processes are awake.
    pub fn awake(&self) -> usize {
        lock(&self.actors.awake).len()
    }

    /// Whether a process is awake.
    fn is_awake(&self, pid: &Pid) -> bool {
        lock(&self.actors.awake).contains_key(pid)
    }

    /// The row of a process that somebody names.
    pub(crate) async fn known(&self, pid: &Pid) -> Result<ProcessRow, Error> {
        let row = self.world.store.processes().by_id(pid).await?;
        row.ok_or_else(|| not_found(pid))
    }

    /// The same for one that can still do something. The one `init` of a user comes back after it was killed.
    pub(crate) async fn living(&self, pid: &Pid) -> Result<ProcessRow, Error> {
        let row = self.known(pid).await?;
        if row.state == ProcessState::Exited && !is_init(&row) { Err(not_found(pid)) } else { Ok(row) }
    }

    /// Sends mail and waits for the answer.
    async fn ask<T>(&self, pid: &Pid, mail: impl FnOnce(Reply<T>) -> Mail) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        self.post(pid, mail(reply)).await?;
        match self.world.clock.timeout(limits::process::ANSWER_TIMEOUT, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) if self.actors.stopping.is_requested() => Err(Error::stopping()),
            Ok(Err(_)) => {
                Err(Error::internal(&format!("process {pid} dropped the request; the log says why")))
            }
            Err(_) => Err(Error::new(504, format!("Process {pid} is busy: no answer in time"))),
        }
    }

    /// Has a process decide on a call of a block of its active run, and make it. Waits as long as it takes: a person may
    /// have to be asked, and whoever ends the run ends this.
    pub(crate) async fn call_nested(&self, pid: &Pid, call: NestedCall) -> Result<String, Error> {
        let (reply, answer) = oneshot::channel();
        self.post(pid, Mail::Nested(Box::new(call), reply)).await?;
        answer.await.unwrap_or_else(|_| Err(Error::conflict("the run of the block is over")))
    }

    /// Puts mail into a mailbox and wakes its process. A full mailbox is waited for, for a while.
    async fn post(&self, pid: &Pid, mail: Mail) -> Result<(), Error> {
        let clock = &self.world.clock;
        let deadline = clock.instant() + limits::process::ANSWER_TIMEOUT;
        let mut mail = mail;
        loop {
            let sender = match self.offer(pid, mail)? {
                None => return Ok(()),
                Some((sender, back)) => {
                    mail = back;
                    sender
                }
            };
            let left = deadline.saturating_duration_since(clock.instant());
            match clock.timeout(left, sender.reserve()).await {
                Ok(Ok(permit)) => {
                    permit.send(mail);
                    return Ok(());
                }
                // It went to sleep meanwhile: its successor gets the mail.
                Ok(Err(_)) => {}
                Err(_) => return Err(Error::too_busy(&format!("process {pid} has too much mail"))),
            }
        }
    }

    /// Mail that came while its process went to sleep.
    pub(crate) fn post_again(&self, pid: &Pid, mail: Mail) {
        let (host, pid) = (self.clone(), pid.clone());
        tokio::spawn(async move {
            if let Err(error) = host.post(&pid, mail).await {
                tracing::warn!(%pid, %error, "mail for a process that went to sleep got lost");
            }
        });
    }

    /// Hands mail over if there is room; gives it back with the full mailbox otherwise.
    fn offer(&self, pid: &Pid, mail: Mail) -> Result<Option<(mpsc::Sender<Mail>, Mail)>, Error> {
        if self.actors.stopping.is_requested() {
            return Err(Error::stopping());
        }
        let mut awake = lock(&self.actors.awake);
        let sender = match awake.get(pid) {
            Some(sender) if !sender.is_closed() => sender.clone(),
            _ => {
                let (sender, mailbox) = mpsc::channel(limits::process::MAIL_MAX);
                awake.insert(pid.clone(), sender.clone());
                self.actors.count.send_replace(awake.len());
                tokio::spawn(actor::supervise(
                    self.clone(),
                    pid.clone(),
                    mailbox,
                    self.actors.stopping.clone(),
                ));
                sender
            }
        };
        // Under the lock, so that a process does not go to sleep between the look and the mail.
        match sender.try_send(mail) {
            Ok(()) => Ok(None),
            Err(TrySendError::Full(mail) | TrySendError::Closed(mail)) => Ok(Some((sender, mail))),
        }
    }

    /// Closes a mailbox that is empty. False when there is mail after all.
    pub(crate) fn retire(&self, pid: &Pid, mailbox: &mut mpsc::Receiver<Mail>) -> bool {
        let mut awake = lock(&self.actors.awake);
        if !mailbox.is_empty() {
            return false;
        }
        self.leave(&mut awake, pid, mailbox);
        true
    }

    /// Closes a mailbox whatever is in it: the gateway stops. Who waits for an answer is told so.
    pub(crate) fn close(&self, pid: &Pid, mailbox: &mut mpsc::Receiver<Mail>) {
        let mut awake = lock(&self.actors.awake);
        self.leave(&mut awake, pid, mailbox);
    }

    fn leave(&self, awake: &mut Mailboxes, pid: &Pid, mailbox: &mut mpsc::Receiver<Mail>) {
        mailbox.close();
        // A successor may be there already; its mailbox is open.
        if awake.get(pid).is_some_and(mpsc::Sender::is_closed) {
            awake.remove(pid);
        }
        self.actors.count.send_replace(awake.len());
    }
}
