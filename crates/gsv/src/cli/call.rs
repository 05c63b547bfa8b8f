//! `gsv call NAME`: any call of the protocol, its flags taken from the call's own schema.

use std::io::Read;

use base::limits;
use clap::Args;
use protocol::frame::to_json;
use protocol::spec::{Access, Route, Spec};
use serde_json::{Map, Value};
use terminal::failure::{Failure, Result};
use terminal::output::Table;

use crate::context::Context;
use crate::session;

mod flags;
mod schema;

use flags::Given;

/// Arguments of `gsv call`.
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub struct Call {
    /// The call, such as fs.read, then its flags: `gsv call fs.read --help`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "NAME [--flags | --args JSON]")]
    words: Vec<String>,
}

const USAGE: &str = "\
Usage: gsv call NAME [--target DEVICE] [--args JSON] [--FLAG VALUE]...
       gsv call NAME --help    what a call takes
       gsv call --list         all calls

  --args JSON   the arguments as a JSON object, @FILE to read one, - for stdin; flags win over it
  --target ID   where fs.* and shell.exec run
";

/// Makes the call and prints its result.
pub async fn run(context: &Context, call: Call) -> Result<u8> {
    let Some((name, words)) = call.words.split_first() else {
        return Err(Failure::usage("which call?").with_hint("`gsv call --list` lists them"));
    };
    match name.as_str() {
        "--list" | "-l" => return list(context, words),
        "--help" | "-h" => {
            context.output.text(USAGE)?;
            return Ok(0);
        }
        _ => {}
    }
    let spec = protocol::spec(name)
        .ok_or_else(|| Failure::usage(format!("there is no call {name}")).with_hint(nearest(name)))?;
    let schema = schema::of(spec);
    let given = flags::parse(&schema, words, spec.route == Route::Target, &context.globals)?;
    if given.help {
        context.output.text(&help(spec, &schema))?;
        return Ok(0);
    }
    make(&context.with_globals(given.globals.clone()), spec, given).await
}

async fn make(context: &Context, spec: &Spec, given: Given) -> Result<u8> {
    let mut args = match &given.args {
        Some(source) => read_args(source)?,
        None => Map::new(),
    };
    args.extend(given.values);
    if let Some(target) = given.target {
        args.insert("target".to_string(), Value::String(target));
    }
    let args = to_json(&args);
    let raw = if spec.access == Access::Open {
        let (connection, _) = session::open_anonymous(context).await?;
        connection.call_raw(spec.name, &args, limits::client::CALL_TIMEOUT).await?
    } else {
        session::open(context)
            .await?
            .connection
            .call_raw(spec.name, &args, limits::client::CALL_TIMEOUT)
            .await?
    };
    context.output.raw_json(&raw)?;
    // An operation may fail inside a call that was answered.
    let failed = serde_json::from_str::<Value>(&raw).is_ok_and(|value| value["ok"] == Value::Bool(false));
    Ok(u8::from(failed))
}

fn read_args(source: &str) -> Result<Map<String, Value>> {
    let limit = limits::frame::MAX_BYTES as u64;
    let mut text = String::new();
    match (source, source.strip_prefix('@')) {
        ("-", _) => {
            std::io::stdin().lock().take(limit).read_to_string(&mut text)?;
        }
        (_, Some(path)) => {
            let cannot = |error| Failure::new(format!("cannot read {path}: {error}"));
            let file = std::fs::File::open(path).map_err(cannot)?;
            file.take(limit).read_to_string(&mut text).map_err(cannot)?;
        }
        _ => text = source.to_string(),
    }
    serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("--args is not a JSON object: {error}")))
}

fn list(context: &Context, words: &[String]) -> Result<u8> {
    let json = context.output.json || words.iter().any(|word| word == "--json");
    let first = |spec: &Spec| spec.doc.lines().next().unwrap_or_default().trim().to_string();
    if json {
        let calls: Vec<Value> = protocol::calls()
            .map(|spec| serde_json::json!({ "name": spec.name, "doc": spec.text() }))
            .collect();
        context.output.raw_json(&to_json(&calls))?;
        return Ok(0);
    }
    context.output.table("", || {
        let mut table = Table::new(&["CALL", "WHAT IT DOES"], "no calls");
        protocol::calls().for_each(|spec| table.row([spec.name.to_string(), first(spec)]));
        table
    })?;
    Ok(0)
}

fn help(spec: &Spec, schema: &schema::Args) -> String {
    let mut out = format!("{}\n\n{}\n\nUsage: gsv call {}", spec.name, spec.text(), spec.name);
    if spec.route == Route::Target {
        out.push_str(" [--target DEVICE]");
    }
    out.push_str(" [--args JSON] [FLAGS]\n");
    let lines: Vec<(String, String)> = schema
        .fields
        .iter()
        .map(|field| {
            let need = if field.required { " (required)" } else { "" };
            (format!("  {} {}", field.flag(), field.kind.placeholder()), format!("{}{need}", field.doc))
        })
        .collect();
    let width = lines.iter().map(|(flag, _)| flag.chars().count()).max().unwrap_or(0);
    if !lines.is_empty() {
        out.push_str("\nFlags:\n");
    }
    for (flag, doc) in lines {
        out.push_str(format!("{flag:<width$}  {doc}").trim_end());
        out.push('\n');
    }
    out
}

/// A hint for a name that does not exist: the calls that look like it.
fn nearest(name: &str) -> String {
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_string();
    let domain = name.split('.').next().unwrap_or_default();
    let mut near: Vec<&str> = protocol::calls()
        .map(|spec| spec.name)
        .filter(|candidate| last(candidate) == last(name) || candidate.starts_with(&format!("{domain}.")))
        .collect();
    near.truncate(8);
    if near.is_empty() {
        "`gsv call --list` lists them".to_string()
    } else {
        format!("there is {}", near.join(", "))
    }
}
