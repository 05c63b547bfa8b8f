//! `gsv cp`: files between this machine and any target, byte-exact, resumed where it broke off.

use clap::Args;
use serde_json::json;
use terminal::failure::{Failure, Result};

use crate::context::Context;
use crate::session;

mod local;
mod location;
mod progress;
mod remote;
mod transfer;
mod tree;
mod unfinished;

pub use location::{Location, Remote};
use transfer::Copier;

/// Arguments of `gsv cp`.
#[derive(Args, Debug)]
pub struct Cp {
    /// Copy directories with everything in them.
    #[arg(short, long)]
    recursive: bool,
    /// DEVICE:/path, gsv:/path, or a local path (./a:b when it has a colon).
    source: String,
    /// The same; into an existing directory the source is copied under its own name.
    destination: String,
}

/// Copies one file of a target to this machine, byte by byte.
pub async fn fetch(context: &Context, from: &Remote, to: &Location) -> Result<()> {
    let mut copier = Copier::new(context, session::open(context).await?);
    tree::copy(&mut copier, &Location::Remote(from.clone()), to, false).await?;
    match copier.finish().await.failed {
        0 => Ok(()),
        _ => Err(Failure::new(format!("{from} could not be read"))),
    }
}

/// Copies, and says how much.
pub async fn run(context: &Context, args: Cp) -> Result<u8> {
    let (source, destination) = (Location::parse(&args.source)?, Location::parse(&args.destination)?);
    if let (Location::Local(_), Location::Local(_)) = (&source, &destination) {
        return Err(Failure::usage("source and destination are both on this machine: use cp")
            .with_hint("a path elsewhere looks like DEVICE:/path or gsv:/path"));
    }
    let session = session::open(context).await?;
    let mut copier = Copier::new(context, session);
    tree::copy(&mut copier, &source, &destination, args.recursive).await?;
    let done = copier.finish().await;
    let raw = json!({
        "files": done.files, "bytes": done.bytes, "unchanged": done.unchanged, "failed": done.failed,
    });
    context.output.answer(&raw.to_string(), || {
        let plural = if done.files == 1 { "" } else { "s" };
        let there = match done.unchanged {
            0 => String::new(),
            count => format!("; {count} were there already"),
        };
        format!("copied {} file{plural}, {} bytes{there}", done.files, done.bytes)
    })?;
    match done.failed {
        0 => Ok(0),
        failed => Err(Failure::new(format!("{failed} could not be copied"))),
    }
}
