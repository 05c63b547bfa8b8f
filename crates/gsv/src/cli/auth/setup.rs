//! `gsv auth setup`: the first user of a fresh gateway.

use base::limits;
use clap::Args;
use client::Connection;
use protocol::error::Reason;
use protocol::frame::to_json;
use protocol::spec::Syscall;
use protocol::sys::{Auth, Setup as Call, SetupAi, SetupDone, SetupNode};
use terminal::failure::{Failure, Result};
use terminal::output::pairs;
use terminal::times;

use crate::context::Context;
use crate::{config_file, credentials, prompt, session};

/// Arguments of `gsv auth setup`.
#[derive(Args, Default)]
pub struct Setup {
    /// The first user's name.
    #[arg(long, value_name = "NAME")]
    username: Option<String>,
    /// The first user's password, at least 8 characters.
    #[arg(long, value_name = "PASSWORD")]
    new_password: Option<String>,
    /// Read the first user's password from the first line of stdin.
    #[arg(long, conflicts_with = "new_password")]
    password_stdin: bool,
    /// Root's password; the first user's when absent.
    #[arg(long, value_name = "PASSWORD")]
    root_password: Option<String>,
    /// The setup code that `gsv serve` printed; needed from another machine than the gateway's.
    #[arg(long, value_name = "CODE")]
    code: Option<String>,
    /// The gateway's time zone, such as Europe/Vienna.
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
    /// The provider of the model, such as anthropic or ollama.
    #[arg(long, value_name = "NAME")]
    ai_provider: Option<String>,
    /// The model, by the name its provider uses.
    #[arg(long, value_name = "NAME")]
    ai_model: Option<String>,
    /// The provider's API key.
    #[arg(long, value_name = "KEY")]
    ai_api_key: Option<String>,
    /// Also make a token for this machine as a device of this id.
    #[arg(long, value_name = "ID")]
    node_id: Option<String>,
    /// A label to recognise that token by.
    #[arg(long, value_name = "TEXT", requires = "node_id")]
    node_label: Option<String>,
    /// When that token expires: 30d, 12h, RFC 3339 or milliseconds.
    #[arg(long, value_name = "WHEN", requires = "node_id")]
    node_expires_at: Option<String>,
}

impl std::fmt::Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Setup").field("username", &self.username).finish_non_exhaustive()
    }
}

/// Sets the gateway up as the flags say, asking for what is missing.
pub async fn run(context: &Context, args: Setup) -> Result<u8> {
    let (raw, done, _) = set_up(context, args).await?;
    context.output.answer(&raw, || describe(&done))?;
    Ok(0)
}

/// Asks for everything and sets the gateway up; gives the new user's credentials.
pub async fn wizard(context: &Context) -> Result<Auth> {
    let (_, done, auth) = set_up(context, Setup::default()).await?;
    context.output.note("The gateway is set up.");
    if done.node_token.is_some() {
        context.output.note("The device token was saved for `gsv device run`.");
    }
    Ok(auth)
}

async fn set_up(context: &Context, args: Setup) -> Result<(String, SetupDone, Auth)> {
    context.may_send_password(&session::url(context)?)?;
    let mut call = ask(context, args)?;
    let (connection, url) = session::open_anonymous(context).await?;
    let raw = match send(&connection, &call).await {
        Err(failure) if failure.reason == Some(Reason::setup_code_required) => {
            call.code = Some(ask_code(context, failure)?);
            send(&connection, &call).await?
        }
        sent => sent?,
    };
    connection.close().await;
    let done: SetupDone = serde_json::from_str(&raw)
        .map_err(|why| client::Error::Decode { call: Call::SPEC.name.to_string(), why: why.to_string() })?;
    config_file::update(|file| {
        file.pin_device()?;
        if !credentials::same_gateway(file, &url) {
            file.set("gateway.url", &url)?;
        }
        file.set("gateway.username", &call.username)?;
        if let (Some(token), Some(node)) = (&done.node_token, &call.node) {
            file.set("node.id", &node.device_id)?;
            file.set("node.token", &token.token)?;
            file.set("node.username", &call.username)?;
            file.set("node.url", &url)?;
        }
        Ok(())
    })?;
    Ok((raw, done, Auth { username: call.username, password: Some(call.password), token: None }))
}

async fn send(connection: &Connection, call: &Call) -> Result<String> {
    Ok(connection.call_raw(Call::SPEC.name, &to_json(call), limits::client::CALL_TIMEOUT).await?)
}

/// Asks a person for the setup code; where nobody can be asked, fails as told.
fn ask_code(context: &Context, otherwise: Failure) -> Result<String> {
    if !prompt::is_possible(&context.output) {
        return Err(otherwise.with_hint("give it with --code, or set the gateway up on its own machine"));
    }
    context.output.note(&otherwise.message);
    prompt::line("Setup code", None)
}

/// The call, from flags and answers.
fn ask(context: &Context, args: Setup) -> Result<Call> {
    let wizard = prompt::is_possible(&context.output);
    let asks_all = wizard && args.username.is_none() && args.new_password.is_none();
    let username = match args.username.or_else(|| context.globals.user.clone()) {
        Some(username) => username,
        None if wizard => prompt::line("Username of the first user", None)?,
        None => return Err(missing("--username")),
    };
    if username == "root" {
        return Err(Failure::usage("root exists already: choose another name for the first user")
            .with_hint("root's password is --root-password"));
    }
    let password = match args.new_password.or_else(|| context.globals.password.clone()) {
        Some(password) => password,
        None if args.password_stdin => prompt::password_from_stdin()?,
        None if wizard => prompt::new_password("Password")?,
        None => return Err(missing("--new-password or --password-stdin")),
    };
    let node_id = match args.node_id {
        None if asks_all && prompt::confirm("Make this machine a device too?", true)? => {
            Some(prompt::line("Device id", Some(&super::super::device::default_id()))?)
        }
        node_id => node_id,
    };
    let now_ms = context.clock.now_ms();
    let expires_at =
        args.node_expires_at.map(|text| times::parse(&text, now_ms)).transpose().map_err(Failure::usage)?;
    let ai = SetupAi { provider: args.ai_provider, model: args.ai_model, api_key: args.ai_api_key };
    let has_ai = ai.provider.is_some() || ai.model.is_some() || ai.api_key.is_some();
    Ok(Call {
        username,
        password,
        root_password: args.root_password,
        timezone: args.timezone,
        bootstrap: None,
        ai: has_ai.then_some(ai),
        node: node_id.map(|device_id| SetupNode {
            device_id,
            label: args.node_label,
            expires_at: expires_at.map(|milliseconds| milliseconds as f64),
        }),
        code: args.code,
    })
}

fn missing(flag: &str) -> Failure {
    Failure::usage(format!("there is nobody to ask: give {flag}"))
}

fn describe(done: &SetupDone) -> String {
    let mut rows = vec![
        ("user", format!("{} (uid {})", done.user.username, done.user.uid)),
        ("home", done.user.home.clone()),
        ("root", if done.root_locked { "locked" } else { "has a password" }.to_string()),
    ];
    if let Some(token) = &done.node_token {
        rows.push(("device", token.allowed_device_id.clone().unwrap_or_default()));
        rows.push(("device token", token.token.clone()));
        rows.push(("", "(saved here for `gsv device run`; it is not shown again)".to_string()));
    }
    format!("the gateway is set up\n{}\nnext: gsv auth login", pairs(&rows))
}
