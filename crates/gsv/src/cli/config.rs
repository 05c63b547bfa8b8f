//! `gsv config`: the gateway's configuration, or with `--local` this client's own settings.

use clap::{Args, Subcommand};
use protocol::config::is_sensitive;
use protocol::sys::{ConfigEntries, ConfigEntry, ConfigGet, ConfigSet};
use serde_json::{Value, json};
use terminal::failure::{Failure, Result};
use terminal::output::clean;

use crate::config_file::{self, ConfigFile, KEYS};
use crate::context::Context;
use crate::credentials;
use crate::session;

/// What a secret looks like to onlookers.
const MASK: &str = "********";

/// Arguments of `gsv config`.
#[derive(Args, Debug)]
pub struct Config {
    /// This client's settings file in place of the gateway's configuration.
    #[arg(long, global = true)]
    local: bool,
    #[command(subcommand)]
    action: Action,
}

/// Verbs of `gsv config`.
#[derive(Debug, Subcommand)]
enum Action {
    /// Show one value, all below a prefix, or everything.
    Get {
        /// A key or a prefix.
        key: Option<String>,
        /// Show secrets too.
        #[arg(long)]
        reveal: bool,
    },
    /// Set a value.
    Set {
        /// The key, such as config/server/name.
        key: String,
        /// Its new value.
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Remove a key, so that its default applies again.
    Unset {
        /// The key, such as config/server/name.
        key: String,
    },
}

/// Runs one verb of `gsv config`.
pub async fn run(context: &Context, config: Config) -> Result<u8> {
    match (config.local, config.action) {
        (true, Action::Get { key, reveal }) => {
            let entries = local_entries(&ConfigFile::load()?, key.as_deref())?;
            show(context, entries, key, reveal)
        }
        (true, Action::Set { key, value }) => {
            set_local(context, &key, &value)?;
            done(context, "set", &key)
        }
        (true, Action::Unset { key }) => {
            set_local(context, &key, "")?;
            done(context, "removed", &key)
        }
        (false, Action::Get { key, reveal }) => {
            let session = session::open(context).await?;
            let answer = session.call(&ConfigGet { key: key.clone() }).await?;
            show(context, answer.value.entries, key, reveal)
        }
        (false, Action::Set { key, value }) => {
            let session = session::open(context).await?;
            let answer = session.call(&ConfigSet { key: key.clone(), value: Value::String(value) }).await?;
            context.output.answer(&answer.raw, || format!("set {key}"))?;
            Ok(0)
        }
        (false, Action::Unset { key }) => {
            let session = session::open(context).await?;
            let answer = session.call(&ConfigSet { key: key.clone(), value: Value::Null }).await?;
            context.output.answer(&answer.raw, || format!("removed {key}"))?;
            Ok(0)
        }
    }
}

/// Says what was done to a local key.
fn done(context: &Context, what: &str, key: &str) -> Result<u8> {
    context.output.answer(&json!({ "ok": true }).to_string(), || format!("{what} {key}"))?;
    Ok(0)
}

fn local_entries(file: &ConfigFile, wanted: Option<&str>) -> Result<Vec<ConfigEntry>> {
    let below = |key: &str, prefix: &str| key == prefix || key.starts_with(&format!("{prefix}."));
    let keys = KEYS.iter().map(|(key, _)| *key).filter(|key| wanted.is_none_or(|prefix| below(key, prefix)));
    let keys: Vec<&str> = keys.collect();
    if keys.is_empty() {
        let known = KEYS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let wanted = wanted.unwrap_or_default();
        return Err(
            Failure::usage(format!("unknown local key: {wanted}")).with_hint(format!("the keys are {known}"))
        );
    }
    let entry = |key: &str| file.get(key).map(|value| ConfigEntry { key: key.to_string(), value });
    Ok(keys.into_iter().filter_map(entry).collect())
}

/// Sets a local key; an empty value removes it.
fn set_local(context: &Context, key: &str, value: &str) -> Result<()> {
    config_file::update(|file| {
        file.set(key, value)?;
        if value.is_empty() {
            file.remove(key);
        }
        // A token is for the gateway that commands talk to when it is stored, and for no later one.
        match (key, value) {
            ("gateway.token", "") => {
                file.remove("gateway.token_url");
                file.remove("gateway.token_username");
            }
            ("gateway.token", _) => {
                let url = credentials::url(&context.globals, file);
                file.set("gateway.token_url", &url)?;
                file.remove("gateway.token_username");
            }
            _ => {}
        }
        Ok(())
    })
}

/// The value alone when one key was asked for, else one `key = value` per line.
fn show(context: &Context, mut entries: Vec<ConfigEntry>, asked: Option<String>, reveal: bool) -> Result<u8> {
    for entry in &mut entries {
        // Local keys use dots where the gateway's use slashes.
        if !reveal && !entry.value.is_empty() && is_sensitive(&entry.key.replace('.', "/")) {
            entry.value = MASK.to_string();
        }
    }
    if context.output.json {
        context.output.raw_json(&protocol::frame::to_json(&ConfigEntries { entries }))?;
        return Ok(0);
    }
    if let (Some(key), true) = (&asked, entries.is_empty()) {
        return Err(Failure::new(format!("{key} is not set")));
    }
    if let [entry] = entries.as_slice()
        && asked.as_ref() == Some(&entry.key)
    {
        context.output.line(&entry.value)?;
        return Ok(0);
    }
    let lines: String =
        entries.iter().map(|entry| format!("{} = {}\n", clean(&entry.key), clean(&entry.value))).collect();
    context.output.text(if lines.is_empty() { "(nothing is set)\n" } else { &lines })?;
    Ok(0)
}
