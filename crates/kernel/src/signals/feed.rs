//! Sequenced feed of one user's signals: numbered, buffered for replay, and handed to the connections that are there.
//! Everything here happens under one lock per user, so that a connection that comes back misses nothing and gets
//! nothing twice.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use base::clock::Clock;
use base::limits;
use gateway::RunEvent;
use model::Partial;
use protocol::identity::ProcessIdentity;
use protocol::ids::RunId;
use protocol::sys::{Resume, ResumeStatus, Resumed};

use super::ring::{EntryBody, Ring, Total};
use crate::connections::Connection;
use crate::outbox::{Body, Put, QueuedSignal, ResumeGaps};
use crate::stream_signal::StreamSignal;
use crate::text_signal::{SignalText, TextSignal};

/// One user's signals.
pub(crate) struct Feed {
    identity: Arc<ProcessIdentity>,
    /// The place of the newest signal.
    newest: u64,
    ring: Ring,
    live: Vec<Arc<Connection>>,
    /// Answers that are being given, and the place of the first event of each.
    answers: HashMap<RunId, (u64, Partial)>,
    resume_gaps: Arc<ResumeGaps>,
    clock: Clock,
    /// When something last happened here.
    active: Instant,
    /// Nobody may use it any more; there is, or will be, another one.
    forgotten: bool,
}

/// How many connections a signal went to, and how many of them had it merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) connections: u64,
    pub(super) merged: u64,
}

impl Feed {
    pub(super) fn new(identity: Arc<ProcessIdentity>, beginning: u64, total: Total, clock: Clock) -> Feed {
        Feed {
            identity,
            newest: beginning,
            ring: Ring::new(beginning, total),
            live: Vec::new(),
            answers: HashMap::new(),
            resume_gaps: Arc::default(),
            active: clock.instant(),
            clock,
            forgotten: false,
        }
    }

    /// Whose it is, with the groups the account has now.
    pub(super) fn identity(&self) -> &Arc<ProcessIdentity> {
        &self.identity
    }

    /// The account as it is now.
    pub(super) fn belong_to(&mut self, who: &Arc<ProcessIdentity>) {
        if self.identity.username != who.username {
            // The number was given to somebody else, who must not see what the one before was told.
            self.ring.clear(self.newest);
            self.answers.clear();
        }
        self.identity = who.clone();
    }

    /// Since when nothing has happened, if nobody is connected.
    pub(super) fn quiet_since(&self) -> Option<Instant> {
        self.live.is_empty().then_some(self.active)
    }

    /// When something last happened here.
    pub(super) fn active(&self) -> Instant {
        self.active
    }

    /// Gives up what is kept: connections that missed something of it must read anew.
    pub(super) fn clear(&mut self) {
        self.ring.clear(self.newest);
    }

    /// Whether everything after a place is still there.
    #[cfg(test)]
    pub(super) fn keeps_after(&self, seq: u64) -> bool {
        self.ring.after(seq).is_some()
    }

    /// Closes it for good; the place of its newest signal.
    pub(super) fn forget(&mut self) -> u64 {
        self.forgotten = true;
        self.newest
    }

    pub(super) fn is_forgotten(&self) -> bool {
        self.forgotten
    }

    /// Whether a connection is there and can be told something.
    pub(super) fn has(&self, connection: &Connection) -> bool {
        self.live.iter().any(|live| live.number == connection.number) && !connection.outbox.is_closing()
    }

    /// Tells a signal whose payload is finished.
    pub(super) fn tell_text(
        &mut self,
        said: SignalText,
        run: Option<&RunId>,
        only: Option<&Arc<Connection>>,
    ) -> Told {
        let seq = self.advance();
        self.ring.push_text(seq, run.cloned(), said.clone());
        let body = Body::Text(Arc::new(TextSignal::new(seq, said)));
        self.hand_out(only, QueuedSignal { seq, run: run.cloned(), body })
    }

    /// The connections a signal goes to.
    fn receivers<'a>(&'a self, only: Option<&'a Arc<Connection>>) -> &'a [Arc<Connection>] {
        match only {
            Some(only) => std::slice::from_ref(only),
            None => self.live.as_slice(),
        }
    }

    /// Tells an event of a model's answer.
    pub(super) fn tell_stream(&mut self, event: RunEvent, only: Option<&Arc<Connection>>) -> Told {
        let seq = self.advance();
        let event = Arc::new(StreamSignal::new(seq, event));
        self.follow_answer(seq, &event);
        self.ring.push_stream(seq, &event);
        let run = Some(event.run_id().clone());
        self.hand_out(only, QueuedSignal { seq, run, body: Body::Stream(event) })
    }

    /// A run has ended, and with it whatever answer it was getting.
    pub(super) fn end_run(&mut self, run_id: &RunId) {
        self.answers.remove(run_id);
    }

    fn follow_answer(&mut self, seq: u64, event: &StreamSignal) {
        if event.is_last() {
            self.answers.remove(event.run_id());
        } else if event.is_first() || !self.answers.contains_key(event.run_id()) {
            // One that does not fit in is replayed without its text so far.
            if let Some(partial) = event.partial()
                && self.answers.len() < limits::signal::ANSWERS_MAX
            {
                self.answers.insert(event.run_id().clone(), (seq, partial.clone()));
            }
        }
    }

    fn advance(&mut self) -> u64 {
        self.active = self.clock.instant();
        self.newest += 1;
        self.newest
    }

    fn hand_out(&self, only: Option<&Arc<Connection>>, signal: QueuedSignal) -> Told {
        let mut told = Told::default();
        for receiver in self.receivers(only) {
            let put = receiver.outbox.signal(signal.clone());
            told.connections += u64::from(put != Put::Lost);
            told.merged += u64::from(put == Put::Merged);
        }
        told
    }

    /// Makes a connection one that is told. `answer` puts the answer of its login in line: what was missed comes
    /// behind it, and what is new behind that.
    pub(super) fn attach(
        &mut self,
        connection: &Arc<Connection>,
        resume: Option<&Resume>,
        answer: impl FnOnce(Option<Resumed>),
    ) {
        self.active = self.clock.instant();
        let streams = connection.login().map(|login| login.streams).unwrap_or_default();
        connection.outbox.prepare(connection.codec(), streams, self.resume_gaps.clone());
        match resume {
            None => answer(None),
            Some(resume) => self.replay(connection, resume.seq, |resumed| answer(Some(resumed))),
        }
        // A socket that is gone already has been taken out of the books, and must not come back into them.
        if !connection.outbox.is_closing() {
            self.live.push(connection.clone());
        }
    }

    fn replay(&self, connection: &Arc<Connection>, after: u64, answer: impl FnOnce(Resumed)) {
        let known = after <= self.newest && !self.resume_gaps.holds(after);
        let Some(missed) = self.ring.after(after).filter(|_| known) else {
            return answer(Resumed { status: ResumeStatus::Refresh, from: self.newest, to: self.newest });
        };
        answer(Resumed { status: ResumeStatus::Replayed, from: after, to: self.newest });
        // Also what went to one connection alone: that one may be the very client that comes back, under another id.
        for kept in missed {
            let (first, skip) = kept.after(after);
            let body = match &kept.body {
                EntryBody::Text(said) => Body::Text(Arc::new(TextSignal::new(kept.seq, said.clone()))),
                EntryBody::Stream(event, _) => {
                    // An earlier answer of the same run has ended.
                    let answer = self.answers.get(event.run_id()).filter(|(since, _)| kept.seq >= *since);
                    Body::Stream(Arc::new(event.to_replay(skip, answer.map(|(_, partial)| partial.clone()))))
                }
            };
            connection.outbox.replay(QueuedSignal { seq: kept.seq, run: kept.run.clone(), body }, first);
        }
    }

    /// A connection is gone.
    pub(super) fn detach(&mut self, connection: &Connection) {
        self.live.retain(|live| live.number != connection.number);
    }
}
