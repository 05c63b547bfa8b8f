//! `gsv auth token`: make, list and revoke tokens.

use clap::{Args, Subcommand, ValueEnum};
use protocol::ids::Uid;
use protocol::sys::token::{Create, List, NewToken, Record, Revoke};
use terminal::failure::{Failure, Result};
use terminal::output::{Table, or_dash, pairs};
use terminal::times;

use crate::context::Context;
use crate::session;

/// Verbs of `gsv auth token`.
#[derive(Debug, Subcommand)]
pub enum Token {
    /// Make a token; its value is shown this once.
    Create(CreateArgs),
    /// List tokens, without their values.
    List {
        /// Whose token, by uid (root only).
        #[arg(long)]
        uid: Option<u32>,
    },
    /// Revoke a token and close the connections that used it.
    Revoke {
        /// The token's id, as listed.
        id: String,
        /// The reason, kept with the token.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Whose token, by uid (root only).
        #[arg(long)]
        uid: Option<u32>,
    },
}

/// Arguments of `gsv auth token create`.
#[derive(Args, Debug)]
pub struct CreateArgs {
    /// Who will log in with it.
    #[arg(long, value_enum, default_value_t = TokenKind::Node)]
    kind: TokenKind,
    /// Whose token, by uid (root only).
    #[arg(long)]
    uid: Option<u32>,
    /// A label to recognise it by in `gsv auth token list`.
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// The role it may log in with [default: that of its kind].
    #[arg(long, value_enum)]
    role: Option<TokenRole>,
    /// The only device that may use it.
    #[arg(long, value_name = "ID")]
    device: Option<String>,
    /// When it expires: 30d, 12h, RFC 3339 or milliseconds.
    #[arg(long, value_name = "WHEN")]
    expires_at: Option<String>,
    /// Let logins with it answer approvals (user tokens) [default: as your own login].
    #[arg(long, overrides_with = "no_approve")]
    approve: bool,
    /// Do not let logins with it answer approvals, for tokens that an agent could read.
    #[arg(long, overrides_with = "approve")]
    no_approve: bool,
}

/// Who logs in with a token, as `--kind` takes it.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum TokenKind {
    /// A device.
    Node,
    /// An adapter.
    Service,
    /// A person.
    User,
}

/// The role a token may take.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum TokenRole {
    /// A device.
    Driver,
    /// An adapter.
    Service,
    /// A person.
    User,
}

/// Runs one verb of `gsv auth token`.
pub async fn run(context: &Context, token: Token) -> Result<u8> {
    match token {
        Token::Create(args) => create(context, args).await,
        Token::List { uid } => {
            let session = session::open(context).await?;
            let answer = session.call(&List { uid: uid.map(Uid) }).await?;
            context.output.table(&answer.raw, || table(&answer.value.tokens))?;
            Ok(0)
        }
        Token::Revoke { id, reason, uid } => {
            let session = session::open(context).await?;
            let call = Revoke { token_id: id.clone(), reason, uid: uid.map(Uid) };
            let answer = session.call(&call).await?;
            if !answer.value.revoked {
                return Err(Failure::new(format!("there is no token {id} to revoke")));
            }
            context.output.answer(&answer.raw, || format!("revoked {id}"))?;
            Ok(0)
        }
    }
}

async fn create(context: &Context, args: CreateArgs) -> Result<u8> {
    let now_ms = context.clock.now_ms();
    let expires_at =
        args.expires_at.map(|text| times::parse(&text, now_ms)).transpose().map_err(Failure::usage)?;
    let call = Create {
        uid: args.uid.map(Uid),
        kind: name(args.kind),
        label: args.label,
        allowed_role: args.role.map(name),
        allowed_device_id: args.device,
        expires_at: expires_at.map(|milliseconds| milliseconds as f64),
        approve: (args.approve || args.no_approve).then_some(args.approve),
    };
    let session = session::open_to_last(context, expires_at).await?;
    let answer = session.call(&call).await?;
    context.output.answer(&answer.raw, || describe(&answer.value.token))?;
    let end_ms = answer.value.token.expires_at;
    if end_ms.is_some() && end_ms != expires_at {
        context.output.note(
            "note: the token ends with the login that made it; one that is to last longer is made with the password (-p)",
        );
    }
    Ok(0)
}

fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default()
}

fn describe(token: &NewToken) -> String {
    pairs(&[
        ("id", token.token_id.to_string()),
        ("kind", token.kind.as_str().to_string()),
        ("uid", token.uid.to_string()),
        ("role", or_dash(token.allowed_role.map(|role| role.as_str()))),
        ("device", or_dash(token.allowed_device_id.clone())),
        ("label", or_dash(token.label.clone())),
        ("expires", or_dash(token.expires_at.map(times::show))),
        ("approve", if token.approve { "yes" } else { "no" }.to_string()),
        ("token", token.token.clone()),
        ("", "(shown this once)".to_string()),
    ])
}

fn table(tokens: &[Record]) -> Table {
    let headings = [
        "ID",
        "KIND",
        "UID",
        "PREFIX",
        "DEVICE",
        "APPROVE",
        "LABEL",
        "CREATED",
        "LAST USED",
        "EXPIRES",
        "REVOKED",
    ];
    let mut table = Table::new(&headings, "no tokens");
    for token in tokens {
        let revoked = token.revoked_at.map(|at| match &token.revoked_reason {
            Some(reason) => format!("{} ({reason})", times::show(at)),
            None => times::show(at),
        });
        table.row([
            token.token_id.to_string(),
            token.kind.as_str().to_string(),
            token.uid.to_string(),
            token.token_prefix.clone(),
            or_dash(token.allowed_device_id.clone()),
            if token.approve { "yes" } else { "no" }.to_string(),
            or_dash(token.label.clone()),
            times::show(token.created_at),
            or_dash(token.last_used_at.map(times::show)),
            or_dash(token.expires_at.map(times::show)),
            or_dash(revoked),
        ]);
    }
    table
}
