//! Slash commands of the chat prompt.

use base::limits;
use protocol::config::{self, Key};
use protocol::proc::conversation::Open;
use protocol::proc::cost::Cost;
use protocol::proc::history::Read;
use protocol::proc::segment::{Compact, Fork};
use protocol::sys::{ConfigGet, ConfigSet};
use serde_json::Value;
use terminal::escape;
use terminal::failure::{Failure, Result};

use super::{Chat, done};
use crate::{cost, transcript};

/// What the commands do.
const HELP: &str = "\
/new [TITLE]             begin a new conversation
/fork [MESSAGE]          go on in a copy of this conversation, up to a message or the newest
/compact [KEEP]          replace all but the newest messages by a summary
/history [COUNT]         show the newest messages and their numbers
/model [PROVIDER/MODEL]  show or set the model you talk to
/cost                    show what this process has used
/quit                    leave; so does Ctrl-D
Ctrl-C stops a running answer. The path of a picture in a message sends the picture along.";

/// Messages that `/history` shows.
const HISTORY_DEFAULT: u64 = 10;
/// Messages that `/compact` keeps.
const KEEP_DEFAULT: u64 = 8;

impl Chat<'_> {
    /// Carries a command out.
    pub(super) async fn command(&mut self, line: &str) -> Result<()> {
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match name {
            "/help" | "/?" => self.output.line(HELP),
            "/new" => self.begin(rest).await,
            "/fork" => self.fork(rest).await,
            "/compact" => self.compact(rest).await,
            "/history" => self.show_history(rest).await,
            "/model" => self.model(rest).await,
            "/cost" => self.cost().await,
            other => {
                Err(Failure::usage(format!("there is no command {other}")).with_hint("/help lists them"))
            }
        }
    }

    async fn begin(&mut self, title: &str) -> Result<()> {
        let title = (!title.is_empty()).then(|| title.to_string());
        let open = Open { pid: self.pid.clone(), title, ..Open::default() };
        let opened = done(self.gateway.ask(&open).await?)?;
        self.output.line(&format!("new conversation {}", opened.conversation.id))?;
        self.conversation = Some(opened.conversation.id);
        Ok(())
    }

    async fn fork(&mut self, message: &str) -> Result<()> {
        let through = match message {
            "" => self.newest_message().await?.ok_or_else(|| Failure::new("there is nothing to copy yet"))?,
            number => parse(number, "a message's number")?,
        };
        let fork = Fork {
            pid: self.pid.clone(),
            conversation_id: self.conversation.clone(),
            through_message_id: Some(through),
            ..Fork::default()
        };
        let forked = self.gateway.call(&fork, limits::client::CALL_TIMEOUT).await?;
        let forked = done(forked)?;
        let id = forked.target_conversation.id;
        self.output.line(&format!(
            "conversation {id} with {} up to {through}; you are in it now",
            super::tools::count(usize::try_from(forked.restored_messages).unwrap_or(usize::MAX), "message"),
        ))?;
        self.conversation = Some(id);
        Ok(())
    }

    async fn compact(&mut self, keep: &str) -> Result<()> {
        let keep = if keep.is_empty() { KEEP_DEFAULT } else { parse(keep, "a number of messages")? };
        let compact = Compact {
            pid: self.pid.clone(),
            conversation_id: self.conversation.clone(),
            generate_summary: Some(true),
            keep_last: Some(keep),
            ..Compact::default()
        };
        let compacted = self.gateway.call(&compact, limits::cli::COMPACT_TIMEOUT).await?;
        let compacted = done(compacted)?;
        self.output.line(&transcript::compacted(&compacted))
    }

    async fn show_history(&mut self, count: &str) -> Result<()> {
        let limit = if count.is_empty() { HISTORY_DEFAULT } else { parse(count, "a number of messages")? };
        let read = Read {
            pid: self.pid.clone(),
            conversation_id: self.conversation.clone(),
            limit: Some(limit),
            tail: Some(true),
            ..Read::default()
        };
        let history = done(self.gateway.ask(&read).await?)?;
        self.output.text(&transcript::transcript(&history, self.look()))
    }

    async fn model(&mut self, wanted: &str) -> Result<()> {
        if !wanted.is_empty() {
            let (provider, model) = match wanted.split_once('/') {
                Some((provider, model)) => (Some(provider), model),
                None => (None, wanted),
            };
            if model.is_empty() || provider.is_some_and(str::is_empty) {
                return Err(Failure::usage("a model is named MODEL or PROVIDER/MODEL"));
            }
            let uid = self.gateway.uid;
            let provider = provider.map(|provider| (config::AI_PROVIDER, provider));
            for (key, value) in provider.into_iter().chain([(config::AI_MODEL, model)]) {
                let key = key.own(uid);
                self.gateway.ask(&ConfigSet { key, value: Value::String(value.to_string()) }).await?;
            }
        }
        let (provider, model) =
            (self.setting(config::AI_PROVIDER).await?, self.setting(config::AI_MODEL).await?);
        let set = match (provider, model) {
            (None, None) => "no model is set: the gateway takes what it finds".to_string(),
            (Some(provider), None) => format!("{provider}, with its usual model"),
            (None, Some(model)) => model,
            (Some(provider), Some(model)) => format!("{provider}/{model}"),
        };
        self.output.line(&escape::line(&set))?;
        let costs = self
            .gateway
            .ask(&Cost { pid: Some(self.pid_or_init()), limit: Some(1), ..Cost::default() })
            .await?;
        match costs.newest.first().map(|run| (run.provider.clone(), run.model.clone())) {
            Some((Some(provider), Some(model))) => {
                self.output.line(&escape::line(&format!("the last run was with {provider}/{model}")))
            }
            _ => Ok(()),
        }
    }

    /// A setting of the models: one's own, else everybody's.
    async fn setting(&mut self, key: Key<String>) -> Result<Option<String>> {
        let uid = self.gateway.uid;
        for key in [key.own(uid), key.name().to_string()] {
            let found = match self.gateway.ask(&ConfigGet { key: Some(key.clone()) }).await {
                // What one may not read is not one's own.
                Err(failure) if failure.has_code(403) || failure.has_code(404) => continue,
                found => found?.entries,
            };
            let value = found.into_iter().find(|entry| entry.key == key).map(|entry| entry.value);
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    async fn cost(&mut self) -> Result<()> {
        let costs = self.gateway.ask(&Cost { pid: Some(self.pid_or_init()), ..Cost::default() }).await?;
        self.output.text(&cost::table(&costs, self.output.colour))
    }
}

fn parse<T: std::str::FromStr>(text: &str, what: &str) -> Result<T> {
    text.parse().map_err(|_| Failure::usage(format!("{text} is not {what}")))
}
