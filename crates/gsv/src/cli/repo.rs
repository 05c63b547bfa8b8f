//! `gsv repo`: repositories on the gateway, their history and what is in them.

mod diff;
mod show;

use base::limits;
use clap::Subcommand;
use client::{Answer, Session};
use protocol::pkg::catalog::PublicSet;
use protocol::repo::change::{Compare, Diff, Import};
use protocol::repo::{Commit, Create, List, Log, Repo, RepoKind};
use protocol::spec::Syscall;
use serde_json::{Value, json};
use terminal::failure::{Failure, Result};
use terminal::output::{Table, or_dash};
use terminal::times;

use crate::config_file::ConfigFile;
use crate::context::Context;
use crate::{credentials, git_url, session};

/// Characters of a commit's hash that are shown in lists, and that are enough to name one.
const SHORT: usize = 12;
/// Commits that are looked through for one whose hash begins so.
const RECENT: u64 = 100;

/// Verbs of `gsv repo`. A repository is `owner/name`, or `name` for one of your own.
#[derive(Debug, Subcommand)]
pub enum RepoVerb {
    /// List the repositories you may read.
    List {
        /// Only those of this user.
        #[arg(long, value_name = "NAME")]
        owner: Option<String>,
    },
    /// Make a repository.
    Create {
        /// The repository.
        repo: String,
        /// Its first branch [default: main].
        #[arg(long = "ref", value_name = "BRANCH")]
        reference: Option<String>,
        /// What it is for.
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
    },
    /// Print the address for `git clone`.
    CloneUrl {
        /// The repository.
        repo: String,
    },
    /// Show the history, newest first.
    Log {
        /// The repository.
        repo: String,
        /// The branch, tag or commit to begin at [default: main].
        #[arg(long = "ref", value_name = "REF")]
        reference: Option<String>,
        /// How many commits, at most 100.
        #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=100))]
        limit: Option<u64>,
        /// How many to leave out first.
        #[arg(long, value_name = "COUNT")]
        offset: Option<u64>,
        /// Only commits that changed this file or directory.
        #[arg(long, value_name = "PATH")]
        path: Option<String>,
    },
    /// Show what a commit changed, or how two refs differ.
    Diff {
        /// The repository.
        repo: String,
        /// A commit; with HEAD the ref or commit to compare with.
        base: String,
        /// The ref or commit to look at.
        head: Option<String>,
        /// Lines around each change.
        #[arg(short = 'U', long, value_name = "LINES", value_parser = clap::value_parser!(u32).range(0..=20))]
        context: Option<u32>,
        /// Only how much changed in which files.
        #[arg(long)]
        stat: bool,
    },
    /// Show a commit, a file or a directory.
    Show {
        /// The repository.
        repo: String,
        /// COMMIT, PATH or PATH@REF [default: the directory at the top of main].
        what: Option<String>,
    },
    /// Bring a repository here from a git URL, or bring an imported one up to date.
    Import {
        /// The repository.
        repo: String,
        /// The git URL it comes from; without one, that of the last import.
        // Not called `url`: that is the gateway's, a flag of every command.
        #[arg(value_name = "URL")]
        remote_url: Option<String>,
        /// The branch here [default: main].
        #[arg(long = "ref", value_name = "BRANCH")]
        reference: Option<String>,
        /// The branch there [default: its own].
        #[arg(long, value_name = "REF")]
        remote_ref: Option<String>,
    },
    /// Let everybody read a repository, with or without an account.
    Public {
        /// The repository.
        repo: String,
        /// Make it private again.
        #[arg(long)]
        off: bool,
    },
}

/// Runs one verb of `gsv repo`.
pub async fn run(context: &Context, verb: RepoVerb) -> Result<u8> {
    match verb {
        RepoVerb::List { owner } => {
            let answer = call::<List>(&open(context).await?, json!({ "owner": owner })).await?;
            context.output.table(&answer.raw, || table(&answer.value.repos))?;
        }
        RepoVerb::Create { repo, reference, description } => {
            let session = open(context).await?;
            let repo = full(&repo, session.username());
            let args = json!({ "repo": repo, "ref": reference, "description": description });
            let answer = call::<Create>(&session, args).await?;
            let url = git_url::of_repo(&session.url, &repo)?;
            context.output.answer(&answer.raw, || match answer.value.created {
                true => format!("created {repo}\nclone it with: git clone {url}"),
                false => format!("{repo} was there already"),
            })?;
        }
        RepoVerb::CloneUrl { repo } => clone_url(context, &repo)?,
        RepoVerb::Log { repo, reference, limit, offset, path } => {
            let session = open(context).await?;
            let repo = full(&repo, session.username());
            let args =
                json!({ "repo": repo, "ref": reference, "limit": limit, "offset": offset, "path": path });
            let answer = call::<Log>(&session, args).await?;
            context.output.table(&answer.raw, || history(&answer.value.entries))?;
        }
        RepoVerb::Diff { repo, base, head, context: around, stat } => {
            let session = open(context).await?;
            let repo = full(&repo, session.username());
            match head {
                Some(head) => {
                    let base = commit(&session, &repo, &base).await?;
                    let head = commit(&session, &repo, &head).await?;
                    let args = json!({ "repo": repo, "base": base, "head": head, "context": around,
                        "stat": stat.then_some(true) });
                    let answer = call::<Compare>(&session, args).await?;
                    diff::print(context, &answer.raw, &answer.value.files, &answer.value.stats, stat)?;
                }
                None => {
                    let commit = commit(&session, &repo, &base).await?;
                    let args = json!({ "repo": repo, "commit": commit, "context": around });
                    let answer = call::<Diff>(&session, args).await?;
                    diff::print(context, &answer.raw, &answer.value.files, &answer.value.stats, stat)?;
                }
            }
        }
        RepoVerb::Show { repo, what } => {
            let session = open(context).await?;
            let repo = full(&repo, session.username());
            show::run(context, &session, &repo, what.as_deref().unwrap_or_default()).await?;
        }
        RepoVerb::Import { repo, remote_url, reference, remote_ref } => {
            let session = open(context).await?;
            let repo = full(&repo, session.username());
            let args =
                json!({ "repo": repo, "ref": reference, "remoteUrl": remote_url, "remoteRef": remote_ref });
            let answer = call::<Import>(&session, args).await?;
            context.output.answer(&answer.raw, || {
                let imported = &answer.value;
                let head = short(imported.head.as_deref().unwrap_or("-"));
                match imported.changed {
                    true => format!("{repo} {} is at {head}", imported.reference),
                    false => format!("{repo} {} was up to date at {head}", imported.reference),
                }
            })?;
        }
        RepoVerb::Public { repo, off } => {
            let session = open(context).await?;
            let repo = full(&repo, session.username());
            let answer = call::<PublicSet>(&session, json!({ "repo": repo, "public": !off })).await?;
            context.output.answer(&answer.raw, || match off {
                true => format!("{repo} is private"),
                false => format!("{repo} is public: everybody who reaches this gateway may read it"),
            })?;
        }
    }
    Ok(0)
}

async fn open(context: &Context) -> Result<Session> {
    session::open(context).await
}

/// Where to clone from. Needs no gateway, and so says nothing about whether the repository is there.
fn clone_url(context: &Context, repo: &str) -> Result<()> {
    let file = ConfigFile::load()?;
    let url = credentials::url(&context.globals, &file);
    let username = credentials::username(&context.globals, &file, &url).unwrap_or_default();
    if username.is_empty() && !repo.contains('/') {
        return Err(Failure::usage("nobody is logged in: give the repository as OWNER/NAME"));
    }
    let repo = full(repo, &username);
    let url = git_url::of_repo(&url, &repo)?;
    let raw = json!({ "repo": repo, "url": url }).to_string();
    context.output.answer(&raw, || url)
}

/// A repository by its whole name: one without an owner is the caller's own.
fn full(repo: &str, username: &str) -> String {
    let repo = repo.trim().trim_end_matches('/');
    let repo = repo.strip_suffix(".git").unwrap_or(repo);
    if repo.contains('/') { repo.to_string() } else { format!("{username}/{repo}") }
}

/// A call with arguments that may be absent.
async fn call<S: Syscall>(session: &Session, mut args: Value) -> Result<Answer<S::Result>> {
    if let Value::Object(members) = &mut args {
        members.retain(|_, value| !value.is_null());
    }
    let name = S::SPEC.name;
    let wait =
        if name == Import::SPEC.name { limits::cli::IMPORT_TIMEOUT } else { limits::client::CALL_TIMEOUT };
    let raw = session.connection.call_raw(name, &args.to_string(), wait).await?;
    let value = serde_json::from_str(&raw)
        .map_err(|why| client::Error::Decode { call: name.to_string(), why: why.to_string() })?;
    Ok(Answer { raw, value })
}

/// The whole hash of a commit of which the beginning was given; anything else as it is.
async fn commit(session: &Session, repo: &str, text: &str) -> Result<String> {
    if !(4..40).contains(&text.len()) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(text.to_string());
    }
    let recent = call::<Log>(session, json!({ "repo": repo, "limit": RECENT })).await?;
    let begins = |commit: &&Commit| commit.hash.starts_with(&text.to_ascii_lowercase());
    let mut found = recent.value.entries.iter().filter(begins);
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one.hash.clone()),
        (None, _) => Ok(text.to_string()),
        (Some(_), Some(_)) => {
            let message = format!("{text} is the beginning of several commits: give more of it");
            Err(Failure::usage(message))
        }
    }
}

fn table(repos: &[Repo]) -> Table {
    let mut table =
        Table::new(&["REPO", "KIND", "ACCESS", "PUBLIC", "CHANGED", "DESCRIPTION"], "no repositories");
    for repo in repos {
        let kind = match repo.kind {
            RepoKind::Home => "home",
            RepoKind::Workspace => "workspace",
            RepoKind::Package => "package",
            RepoKind::User => "user",
        };
        table.row([
            repo.repo.clone(),
            kind.to_string(),
            if repo.writable { "write" } else { "read" }.to_string(),
            if repo.public { "yes" } else { "no" }.to_string(),
            or_dash(repo.updated_at.map(times::show)),
            repo.description.clone().unwrap_or_default(),
        ]);
    }
    table
}

fn history(commits: &[Commit]) -> Table {
    let mut table = Table::new(&["COMMIT", "WHEN", "AUTHOR", "MESSAGE"], "no commits");
    for commit in commits {
        table.row([
            short(&commit.hash).to_string(),
            times::show(commit.author_time.saturating_mul(1_000)),
            commit.author.clone(),
            commit.message.lines().next().unwrap_or_default().to_string(),
        ]);
    }
    table
}

fn short(hash: &str) -> &str {
    hash.get(..SHORT).unwrap_or(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_an_owner_is_ones_own() {
        for (given, meant) in [
            ("notes", "ann/notes"),
            ("bob/notes", "bob/notes"),
            ("bob/notes.git", "bob/notes"),
            ("notes.git/", "ann/notes"),
        ] {
            assert_eq!(full(given, "ann"), meant);
        }
    }
}
