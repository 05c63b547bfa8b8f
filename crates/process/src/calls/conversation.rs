//! Service of conversations: opening, listing, closing, and the policy for one that outgrows the model's context.

#[cfg(test)]
mod tests;

use protocol::error::Error;
use protocol::ids::{ConversationId, Pid};
use protocol::outcome::Outcome;
use protocol::proc::conversation::{
    Close, Closed, Get, Got, List, Listed, Open, Opened, PolicyGet, PolicyResult, PolicySet, Status,
};
use store::change::Change;
use store::conversations::{ConversationRow, PolicyRow};

use crate::conversation::{
    LIFECYCLE, POLICY, condition, full, named, non_blank, policy_to_wire, record, tell, to_value,
};
use crate::host::Host;

/// No conversation is longer, and both engines can keep the number.
const KEEP_LAST_MAX: u64 = 1 << 52;

impl Host {
    /// Opens a conversation: a new one, or one that exists.
    pub async fn conversation_open(&self, pid: &Pid, args: &Open) -> Result<Outcome<Opened>, Error> {
        const CALL: &str = "proc.conversation.open";
        let process = self.known(pid).await?;
        let id = match non_blank(args.conversation_id.as_ref()) {
            Some(_) => named(CALL, args.conversation_id.as_ref())?,
            None => ConversationId(self.world.random.uuid()),
        };
        let title = args.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
        let before = self.conversation(pid, &id).await?;
        if before.is_none()
            && let Some(why) = full(&self.world, pid).await?
        {
            return Ok(Outcome::Failed(why));
        }
        let change = Change::new(pid).conversation_open(&id, title, self.world.now_ms());
        if let Err(why) = self.apply(pid, condition(&id, before.as_ref(), false), change).await? {
            return Ok(Outcome::Failed(why));
        }
        let now = self.conversation(pid, &id).await?;
        let Some(now) = now else { return Ok(Outcome::Failed(format!("Conversation not found: {id}"))) };
        let conversation = record(now);
        let more = [("conversation", to_value(&conversation))];
        tell(&self.world, &process, &LIFECYCLE, &id, "conversation.opened", more).await;
        Ok(Outcome::Done(Opened { pid: pid.clone(), conversation, created: before.is_none() }))
    }

    /// Lists conversations, last changed first.
    pub async fn conversation_list(&self, pid: &Pid, args: &List) -> Result<Outcome<Listed>, Error> {
        self.known(pid).await?;
        let rows = self.world.store.conversations().of(pid).await?;
        let all = args.include_closed == Some(true);
        let listed = rows.into_iter().filter(|row| all || row.status == Status::Open);
        Ok(Outcome::Done(Listed { pid: pid.clone(), conversations: listed.map(record).collect() }))
    }

    /// Reads one conversation's record.
    pub async fn conversation_get(&self, pid: &Pid, args: &Get) -> Result<Outcome<Got>, Error> {
        self.known(pid).await?;
        let id = named("proc.conversation.get", args.conversation_id.as_ref())?;
        let conversation = self.conversation(pid, &id).await?.map(record);
        Ok(Outcome::Done(Got { pid: pid.clone(), conversation }))
    }

    /// Closes a conversation and keeps its history. A run of it goes on.
    pub async fn conversation_close(&self, pid: &Pid, args: &Close) -> Result<Outcome<Closed>, Error> {
        let process = self.known(pid).await?;
        let id = named("proc.conversation.close", Some(&args.conversation_id))?;
        let open = self.conversation(pid, &id).await?.filter(|row| row.status == Status::Open);
        let closed = match &open {
            None => false,
            Some(_) => {
                let change = Change::new(pid).conversation_close(&id, self.world.now_ms());
                // Whoever was faster has closed it, or cleared and opened it again.
                self.apply(pid, condition(&id, open.as_ref(), false), change).await?.is_ok()
            }
        };
        if closed {
            tell(&self.world, &process, &LIFECYCLE, &id, "conversation.closed", []).await;
        }
        Ok(Outcome::Done(Closed { pid: pid.clone(), conversation_id: id, closed }))
    }

    /// Reads what happens when a conversation outgrows the context.
    pub async fn policy_get(&self, pid: &Pid, args: &PolicyGet) -> Result<Outcome<PolicyResult>, Error> {
        self.known(pid).await?;
        let id = named("proc.conversation.policy.get", args.conversation_id.as_ref())?;
        let row = self.conversation(pid, &id).await?.and_then(|row| row.policy);
        Ok(Outcome::Done(PolicyResult { pid: pid.clone(), policy: policy_to_wire(&id, row) }))
    }

    /// Sets what happens when a conversation outgrows the context. What is not said stays.
    pub async fn policy_set(&self, pid: &Pid, args: &PolicySet) -> Result<Outcome<PolicyResult>, Error> {
        const CALL: &str = "proc.conversation.policy.set";
        let process = self.known(pid).await?;
        let id = named(CALL, args.conversation_id.as_ref())?;
        if args.compact_at_pressure.is_some_and(|pressure| !(pressure > 0.0 && pressure <= 1.0)) {
            return Ok(Outcome::Failed(format!("{CALL} compactAtPressure must be > 0 and <= 1")));
        }
        let row = self.conversation(pid, &id).await?;
        if row.is_none()
            && let Some(why) = full(&self.world, pid).await?
        {
            return Ok(Outcome::Failed(why));
        }
        let now_ms = self.world.now_ms();
        let before = row.as_ref().and_then(|row| row.policy).unwrap_or(POLICY);
        let policy = PolicyRow {
            overflow: args.overflow.unwrap_or(before.overflow),
            compact_at: args.compact_at_pressure.unwrap_or(before.compact_at),
            keep_last: args.keep_last.map_or(before.keep_last, |keep| keep.min(KEEP_LAST_MAX)),
            updated_at: now_ms,
        };
        let change = Change::new(pid).conversation_ensure(&id, now_ms).policy(&id, policy);
        if let Err(why) = self.apply(pid, condition(&id, row.as_ref(), false), change).await? {
            return Ok(Outcome::Failed(why));
        }
        let policy = policy_to_wire(&id, Some(policy));
        let more = [("policy", to_value(&policy))];
        tell(&self.world, &process, &LIFECYCLE, &id, "conversation.policy", more).await;
        Ok(Outcome::Done(PolicyResult { pid: pid.clone(), policy }))
    }

    pub(crate) async fn conversation(
        &self,
        pid: &Pid,
        id: &ConversationId,
    ) -> Result<Option<ConversationRow>, Error> {
        self.world.store.conversations().by_id(pid, id).await.map_err(Error::from)
    }
}
