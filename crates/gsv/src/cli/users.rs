//! `gsv users`: accounts, for root.

use clap::{Args, Subcommand};
use protocol::sys::account::{User, UserCreate, UserList, UserRemove, UserUpdate};
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
    /// Change a user's password.
    Passwd {
        /// Login name.
        name: String,
        #[command(flatten)]
        password: NewPassword,
    },
    /// Say which further groups a user is in from now on.
    Groups {
        /// Login name.
        name: String,
        /// All of them; none removes the user from every further group.
        groups: Vec<String>,
    },
    /// Remove a user with its tokens.
    Remove {
        /// Login name.
        name: String,
        /// Do not ask.
        #[arg(short, long)]
        yes: bool,
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
        match self.new_password {
            Some(password) => Ok(password),
            None if self.password_stdin => prompt::password_from_stdin(),
            None if prompt::is_possible(&context.output) => prompt::new_password("New password"),
            None => Err(Failure::usage("there is nobody to ask: give --new-password or --password-stdin")),
        }
    }
}

/// Carries one out.
pub async fn run(context: &Context, users: Users) -> Result<u8> {
    match users {
        Users::List => {
            let answer = session::open(context).await?.call(&UserList {}).await?;
            context.output.table(&answer.raw, || table(&answer.value.users))?;
            Ok(0)
        }
        Users::Add { name, password, groups } => {
            let password = password.obtain(context)?;
            let groups = (!groups.is_empty()).then_some(groups);
            let answer = session::open(context)
                .await?
                .call(&UserCreate { username: name.clone(), password, groups })
                .await?;
            let uid = answer.value.user.identity.uid;
            context.output.answer(&answer.raw, || format!("added {name} (uid {uid})"))?;
            Ok(0)
        }
        Users::Lock { name } => {
            update(context, UserUpdate { locked: Some(true), ..unchanged(name) }, "locked").await
        }
        Users::Unlock { name } => {
            update(context, UserUpdate { locked: Some(false), ..unchanged(name) }, "unlocked").await
        }
        Users::Passwd { name, password } => {
            let password = Some(password.obtain(context)?);
            update(context, UserUpdate { password, ..unchanged(name) }, "changed the password of").await
        }
        Users::Groups { name, groups } => {
            update(context, UserUpdate { groups: Some(groups), ..unchanged(name) }, "changed the groups of")
                .await
        }
        Users::Remove { name, yes } => remove(context, name, yes).await,
    }
}

async fn update(context: &Context, call: UserUpdate, did: &str) -> Result<u8> {
    let answer = session::open(context).await?.call(&call).await?;
    context.output.answer(&answer.raw, || format!("{did} {}", call.username))?;
    Ok(0)
}

async fn remove(context: &Context, name: String, yes: bool) -> Result<u8> {
    if !yes && !prompt::is_possible(&context.output) {
        return Err(Failure::usage("there is nobody to ask: give --yes"));
    }
    let session = session::open(context).await?;
    if !yes && !prompt::confirm(&format!("Remove {name} and its tokens?"), false)? {
        return Err(Failure::new("nothing was removed"));
    }
    let answer = session.call(&UserRemove { username: name.clone() }).await?;
    if !answer.value.removed {
        return Err(Failure::new(format!("there is no user {name}")));
    }
    context.output.answer(&answer.raw, || format!("removed {name}"))?;
    Ok(0)
}

fn unchanged(username: String) -> UserUpdate {
    UserUpdate { username, password: None, locked: None, groups: None }
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
