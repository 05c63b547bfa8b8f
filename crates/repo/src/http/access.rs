//! Authorization of git requests: the rules of `repo.*`, spoken in HTTP's codes.
//!
//! Nobody learns whether a repository exists that they may not read: without a login every private or missing one is a
//! 401, with one a 404.

use std::net::IpAddr;

use gateway::{Caller, Visitor};
use protocol::error::Error;
use protocol::ids::Uid;
use protocol::repo::Read;
use protocol::repo::change::Apply;
use protocol::spec::Syscall;

use super::answer::Refusal;
use crate::admission::Whose;
use crate::repos::{Found, Repos};
use crate::slug::Slug;

/// What a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Read,
    Write,
}

/// Who makes a request.
pub(crate) enum Client {
    User(Caller),
    /// Somebody who reads what everybody may read.
    Anybody(IpAddr),
}

impl Client {
    pub(crate) fn whose(&self) -> Whose {
        match self {
            Client::User(caller) => Whose::User(caller.uid()),
            Client::Anybody(address) => Whose::Address(*address),
        }
    }

    pub(crate) fn uid(&self) -> Option<Uid> {
        match self {
            Client::User(caller) => Some(caller.uid()),
            Client::Anybody(_) => None,
        }
    }
}

/// Whether a visitor gets what it wants of a repository; one that may push makes it where there is none.
pub(crate) async fn decide(
    repos: &Repos,
    visitor: &Visitor,
    slug: Option<Slug>,
    wish: Wish,
) -> Result<(Slug, Found, Client), Refusal> {
    if let (Some(slug), Wish::Read) = (&slug, wish)
        && let Ok(found) = repos.readable(None, slug).await
    {
        // Whatever credentials came along: nobody needs any, and checking them would only help those who guess.
        return Ok((slug.clone(), found, Client::Anybody(visitor.address)));
    }
    let caller = match visitor.caller().await {
        None => return Err(Refusal::authentication_required()),
        Some(caller) => caller.map_err(|error| Refusal::of(&error))?,
    };
    let slug = slug.ok_or_else(Refusal::not_found)?;
    let found = match wish {
        Wish::Read => readable(repos, &caller, &slug).await?,
        Wish::Write => writable(repos, &caller, &slug).await?,
    };
    Ok((slug, found, Client::User(caller)))
}

async fn readable(repos: &Repos, caller: &Caller, slug: &Slug) -> Result<Found, Refusal> {
    if !caller.capabilities.cover(Read::SPEC.name) {
        return Err(Refusal::not_found());
    }
    repos.readable(Some(caller), slug).await.map_err(hidden)
}

async fn writable(repos: &Repos, caller: &Caller, slug: &Slug) -> Result<Found, Refusal> {
    if slug.owner() == SYSTEM_OWNER && !caller.is_root() {
        return Err(Refusal::system_repository());
    }
    let refused = match caller.capabilities.cover(Apply::SPEC.name) {
        true => match repos.writable_or_new(caller, slug).await {
            Ok(found) => return Ok(found),
            Err(error) => error,
        },
        false => Error::permission_denied(Apply::SPEC.name),
    };
    if refused.code != 403 {
        return Err(hidden(refused));
    }
    // Whoever may read it knows that it is there.
    readable(repos, caller, slug).await?;
    Err(Refusal::read_only(slug))
}

/// The owner of what comes with the gateway.
const SYSTEM_OWNER: &str = "system";

/// Missing and forbidden look the same.
fn hidden(error: Error) -> Refusal {
    match error.code {
        403 | 404 => Refusal::not_found(),
        _ => Refusal::of(&error),
    }
}
