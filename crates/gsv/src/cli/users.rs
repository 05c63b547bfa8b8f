//! `gsv users`: accounts, for root.

use base::limits;
use clap::{Args, Subcommand};
use client::{Answer, Session};
use protocol::spec::Syscall;
use protocol::sys::account::{User, UserCreate, UserList, UserRemove, UserUpdate};
use serde_json::{Value, json};
use terminal::failure::{Failure, Result};
use terminal::output::Table;

use crate::context::Context;
use crate::{prompt, session};

/// Verbs of `gsv users`.
#[derive(Debug, Subcommand)]
pub enum Users {
    /// List all accounts.
    List,
    /// Add a user.
    Add {
        /// Login name.
        name: String,
        #[command(flatten)]
        password: NewPassword,
        /// A further group; may be repeated, or a comma list.
        #[arg(long = "group", value_name = "GROUP", value_delimiter = ',')]
        groups: Vec<String>,
        /// Adopt the files that an earlier user of this name left.
        #[arg(long)]
        adopt_files: bool,
    },
    /// Keep a user from logging in.
    Lock {
        /// Login name.
        name: String,
    },
    /// Let a locked user log in again.
    Unlock {
        /// Login name.
        name: String,
    },
    /// Change a user's password, and end their other sessions.
    Passwd {
        /// Login name.
        name: String,
        #[command(flatten)]
        password: NewPassword,
        /// Leave the connections and user tokens of the old password as they are.
        #[arg(long)]
        keep_sessions: bool,
    },
    /// Set a user's further groups.
    Groups {
        /// Login name.
        name: String,
        /// All of them; none removes the user from every further group.
        groups: Vec<String>,
    },
    /// Remove a user with their tokens and agents.
    Remove {
        /// Login name.
        name: String,
        /// Do not ask whether to remove the user.
        #[arg(short, long)]
        yes: bool,
        /// Keep their files for root; a user added later under the same name can adopt them.
        #[arg(long, conflicts_with = "delete_files")]
        keep_files: bool,
        /// Delete their files too, for good.
        #[arg(long)]
        delete_files: bool,
    },
}

/// Where a new password comes from.
#[derive(Args)]
pub struct NewPassword {
    /// The new password, at least 8 characters.
    #[arg(long, value_name = "PASSWORD")]
    new_password: Option<String>,
    /// Read the new password from the first line of stdin.
    #[arg(long, conflicts_with = "new_password")]
    password_stdin: bool,
}

impl std::fmt::Debug for NewPassword {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("NewPassword")
    }
}

impl NewPassword {
    fn obtain(self, context: &Context) -> Result<String> {
        context.may_send_password(&session::url(context)?)?;
        match self.new_password {
            Some(password) => Ok(password),
            None if self.password_stdin => prompt::password_from_stdin(),
            None if prompt::is_possible(&context.output) => prompt::new_password("New password"),
            None => Err(Failure::usage("there is nobody to ask: give --new-password or --password-stdin")),
        }
    }
}

/// Runs one verb of `gsv users`.
pub async fn run(context: &Context, users: Users) -> Result<u8> {
    match users {
        Users::List => {
            let answer = session::open(context).await?.call(&UserList {}).await?;
            context.output.table(&answer.raw, || table(&answer.value.users))?;
            Ok(0)
        }
        Users::Add { name, password, groups, adopt_files } => {
            let password = password.obtain(context)?;
            add(context, name, password, groups, adopt_files).await
        }
        Users::Lock { name } => {
            update(context, UserUpdate { locked: Some(true), ..unchanged(name) }, "locked").await
        }
        Users::Unlock { name } => {
            update(context, UserUpdate { locked: Some(false), ..unchanged(name) }, "unlocked").await
        }
        Users::Passwd { name, password, keep_sessions } => {
            let password = Some(password.obtain(context)?);
            let keep_sessions = keep_sessions.then_some(true);
            let call = UserUpdate { password, keep_sessions, ..unchanged(name) };
            update(context, call, "changed the password of").await
        }
        Users::Groups { name, groups } => {
            update(context, UserUpdate { groups: Some(groups), ..unchanged(name) }, "changed the groups of")
                .await
        }
        Users::Remove { name, yes, keep_files, delete_files } => {
            let files = match (keep_files, delete_files) {
                (true, _) => Some(Files::Keep),
                (false, true) => Some(Files::Delete),
                (false, false) => None,
            };
            remove(context, name, yes, files).await
        }
    }
}

async fn update(context: &Context, call: UserUpdate, did: &str) -> Result<u8> {
    let answer = session::open(context).await?.call(&call).await?;
    context.output.answer(&answer.raw, || format!("{did} {}", call.username))?;
    Ok(0)
}

async fn add(
    context: &Context,
    name: String,
    password: String,
    groups: Vec<String>,
    adopt_files: bool,
) -> Result<u8> {
    let mut args = json!({ "username": name, "password": password });
    if !groups.is_empty() {
        args["groups"] = json!(groups);
    }
    if adopt_files {
        args["adoptFiles"] = json!(true);
    }
    let answer = call::<UserCreate>(&session::open(context).await?, &args).await?;
    let uid = answer.value.user.identity.uid;
    context.output.answer(&answer.raw, || format!("added {name} (uid {uid})"))?;
    let found = paths(&answer.raw, "foundFiles");
    if !found.is_empty() {
        let found = found.join(", ");
        context.output.note(&match adopt_files {
            true => format!("{name} now owns the files that were found in {found}"),
            false => format!(
                "files of an earlier user were found in {found}; {name} cannot change them. To hand them over: \
                 `gsv users remove {name} --keep-files`, then `gsv users add {name} --adopt-files`"
            ),
        });
    }
    Ok(0)
}

/// What becomes of a removed user's files.
#[derive(Clone, Copy)]
enum Files {
    Keep,
    Delete,
}

async fn remove(context: &Context, name: String, yes: bool, files: Option<Files>) -> Result<u8> {
    if (!yes || files.is_none()) && !prompt::is_possible(&context.output) {
        return Err(Failure::usage("there is nobody to ask: give --yes, and --keep-files or --delete-files"));
    }
    let session = session::open(context).await?;
    let question = format!("Remove {name} with their tokens and agents?");
    if !yes && !prompt::confirm(&question, false)? {
        return Err(Failure::new("nothing was removed"));
    }
    let files = match files {
        Some(files) => files,
        None if prompt::confirm(&format!("Keep the files of {name}?"), true)? => Files::Keep,
        None => Files::Delete,
    };
    let files = match files {
        Files::Keep => "keep",
        Files::Delete => "delete",
    };
    let args = json!({ "username": name, "files": files });
    let answer = call::<UserRemove>(&session, &args).await?;
    if !answer.value.removed {
        return Err(Failure::new(format!("there is no user {name}")).with_hint("`gsv users list` shows them"));
    }
    context.output.answer(&answer.raw, || format!("removed {name}"))?;
    let kept = paths(&answer.raw, "filesKept");
    if !kept.is_empty() {
        context.output.note(&format!("their files were kept in {}", kept.join(", ")));
    }
    Ok(0)
}

/// A call whose arguments and result may have more members than the typed ones.
async fn call<S: Syscall>(session: &Session, args: &Value) -> Result<Answer<S::Result>> {
    let name = S::SPEC.name;
    let raw = session.connection.call_raw(name, &args.to_string(), limits::client::CALL_TIMEOUT).await?;
    let value = serde_json::from_str(&raw)
        .map_err(|why| client::Error::Decode { call: name.to_string(), why: why.to_string() })?;
    Ok(Answer { raw, value })
}

/// Paths that an answer lists under a name, or the one it gives.
fn paths(raw: &str, name: &str) -> Vec<String> {
    let answer: Value = serde_json::from_str(raw).unwrap_or_default();
    match &answer[name] {
        Value::String(path) => vec![path.clone()],
        Value::Array(paths) => paths.iter().filter_map(Value::as_str).map(str::to_string).collect(),
        _ => Vec::new(),
    }
}

fn unchanged(username: String) -> UserUpdate {
    UserUpdate { username, password: None, locked: None, groups: None, keep_sessions: None }
}

fn table(users: &[User]) -> Table {
    let mut table = Table::new(&["UID", "NAME", "STATUS", "HOME", "GROUPS"], "no users");
    for user in users {
        table.row([
            user.identity.uid.to_string(),
            user.identity.username.clone(),
            if user.locked { "locked" } else { "active" }.to_string(),
            user.identity.home.clone(),
            user.groups.join(","),
        ]);
    }
    table
}
