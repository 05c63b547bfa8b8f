//! What a run did, read from its journal: which targets it used, and what of it nothing can take back. Pure but for the
//! reading.

use std::collections::BTreeSet;

use protocol::confine::{Way, Widening};
use protocol::fs::history::ran_outside;
use protocol::signal::stream::AssistantMessage;
use serde_json::{Map, Value};
use store::Store;
use store::runs::RunRow;

use crate::run::step::{Intent, Step};

/// What a run did, apart from reading.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Deeds {
    /// Targets where it changed files or ran commands. `gsv` sorts as any other.
    pub(crate) targets: BTreeSet<String>,
    /// What can not be taken back, in words, in the order it happened.
    pub(crate) cannot: Vec<String>,
}

impl Deeds {
    /// Whether it did nothing but read.
    pub(crate) fn is_empty(&self) -> bool {
        self.targets.is_empty() && self.cannot.is_empty()
    }

    /// Reads the journal of a run. Steps that can not be read are passed by: the rest can still be undone.
    pub(crate) async fn of(store: &Store, run: &RunRow) -> store::Result<Deeds> {
        let mut deeds = Deeds::default();
        // The intents of the turn at hand: a device may refuse one before it does anything.
        let (mut intents, mut message_id): (Vec<Intent>, Option<i64>) = (Vec::new(), None);
        for row in store.runs().steps(&run.run_id).await? {
            match Step::parse(&row) {
                Ok(Step::Turn(turn)) => {
                    deeds.take(store, run, std::mem::take(&mut intents), message_id).await?;
                    message_id = Some(turn.message_id);
                }
                Ok(Step::Intent(intent)) => intents.push(intent),
                Ok(Step::Refusal(refusal)) => {
                    let refused = intents.iter().rposition(|intent| intent.place == refusal.place);
                    if let Some(at) = refused {
                        intents.remove(at);
                    }
                }
                Ok(_) => {}
                Err(why) => tracing::warn!(run_id = %run.run_id, %why, "a step is passed by"),
            }
        }
        deeds.take(store, run, intents, message_id).await?;
        Ok(deeds)
    }

    async fn take(
        &mut self,
        store: &Store,
        run: &RunRow,
        intents: Vec<Intent>,
        message_id: Option<i64>,
    ) -> store::Result<()> {
        let is_of_interest = |intent: &Intent| !crate::tools::only_reads(&intent.call);
        if !intents.iter().any(is_of_interest) {
            return Ok(());
        }
        // The arguments are in the model's answer, as long as that is there: it may have been archived since.
        let message = match message_id {
            None => None,
            Some(id) => store.messages().by_id(&run.pid, &run.conversation_id, id).await?,
        };
        let answer: Option<AssistantMessage> =
            message.and_then(|message| serde_json::from_str(&message.meta?).ok());
        let calls: Vec<Map<String, Value>> =
            answer.iter().flat_map(model::tool_calls).map(|call| call.arguments.clone()).collect();
        for intent in intents.iter().filter(|intent| is_of_interest(intent)) {
            self.add(intent, calls.get(intent.place));
        }
        Ok(())
    }

    fn add(&mut self, intent: &Intent, args: Option<&Map<String, Value>>) {
        let text = |name: &str| args.and_then(|args| args.get(name)).and_then(Value::as_str);
        let is_device = intent.target != "gsv";
        match intent.call.as_str() {
            "shell.exec" if intent.way == Way::Proved => {}
            "shell.exec" => {
                self.targets.insert(intent.target.clone());
                if is_device {
                    let command = text("input").or_else(|| text("command")).unwrap_or("(not kept any more)");
                    self.command(intent, command);
                }
            }
            call if call.starts_with("fs.") => {
                self.targets.insert(intent.target.clone());
            }
            call if call.starts_with("codemode.") => {
                self.targets.insert("gsv".to_string());
                self.say("a CodeMode block ran: what it sent or fetched can not be taken back".to_string());
            }
            "proc.send" | "proc.ipc.send" | "proc.ipc.call" | "adapter.send" => {
                let to = text("pid").or_else(|| text("to")).map(|to| format!(" to {to}")).unwrap_or_default();
                self.say(format!("a message was sent{to} ({})", intent.call));
            }
            call => {
                let is_network = protocol::spec(call)
                    .is_some_and(|spec| spec.effects.contains(&protocol::spec::Effect::Network));
                let what = if is_network { "reached other machines" } else { "changed the gateway" };
                self.say(format!("the call {call} {what}"));
            }
        }
    }

    fn command(&mut self, intent: &Intent, command: &str) {
        let on = &intent.target;
        let Widening { write, hosts, .. } = &intent.widening;
        if intent.way == Way::Approved && intent.widening.is_empty() {
            return self.say(format!("on {on}: {}", ran_outside(command)));
        }
        let short: String = command.chars().filter(|c| !c.is_control()).take(80).collect();
        if !write.is_empty() {
            self.say(format!("on {on}: the command `{short}` could write {}", write.join(", ")));
        }
        if !hosts.is_empty() {
            self.say(format!("on {on}: the command `{short}` could reach {}", hosts.join(", ")));
        }
    }

    /// Adds what was not said yet.
    pub(crate) fn say(&mut self, what: String) {
        if !self.cannot.contains(&what) {
            self.cannot.push(what);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn intent(call: &str, target: &str, way: Way) -> Intent {
        let (call, target, request_id) = (call.to_string(), target.to_string(), String::new());
        let (turn, place, hosts, widening) = (1, 0, Vec::new(), Widening::default());
        Intent { turn, place, request_id, call, target, way, hosts, widening }
    }

    #[test]
    fn what_can_not_be_taken_back_is_said_once_and_in_words() {
        let mut deeds = Deeds::default();
        let args = json!({ "input": "make install" }).as_object().cloned();
        for _ in 0..2 {
            deeds.add(&intent("shell.exec", "mac", Way::Approved), args.as_ref());
        }
        deeds.add(&intent("shell.exec", "mac", Way::Proved), args.as_ref());
        deeds.add(&intent("shell.exec", "pi", Way::Confined), args.as_ref());
        deeds.add(&intent("fs.write", "gsv", Way::Confined), None);
        let wide = Widening { hosts: vec!["a.example".into()], ..Widening::default() };
        deeds.add(&Intent { widening: wide, ..intent("shell.exec", "pi", Way::Confined) }, args.as_ref());
        deeds.add(&intent("proc.send", "gsv", Way::Confined), None);
        assert_eq!(deeds.targets.iter().collect::<Vec<_>>(), ["gsv", "mac", "pi"]);
        let cannot = [
            "on mac: the command `make install` ran outside the sandbox",
            "on pi: the command `make install` could reach a.example",
            "a message was sent (proc.send)",
        ];
        assert_eq!(deeds.cannot, cannot);
    }
}
