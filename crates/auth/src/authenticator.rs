//! Login check that leaks nothing by its timing: credentials in, account out. The order of the checks is such that a
//! stranger learns nothing from the answer or from the time it takes: an unknown user is as slow as a wrong password,
//! and both get the same 401.

#[cfg(test)]
mod tests;

use std::net::IpAddr;

use base::clock::Clock;
use base::limits;
use base::random::Random;
use protocol::error::Error;
use protocol::identity::Role;
use protocol::ids::{DeviceId, Gid, Uid};
use protocol::sys::token::TokenKind;
use store::Store;
use store::accounts::Account;
use store::tokens::Token;
use subtle::ConstantTimeEq;

use crate::passwords::{Passwords, is_unset};
use crate::setup_code::SetupCode;
use crate::throttle::{Realm, Throttle};
use crate::tokens;

/// Checks credentials and counts those that fail.
pub struct Authenticator {
    store: Store,
    clock: Clock,
    passwords: Passwords,
    throttle: Throttle,
}

/// Who wants in, and with what.
#[derive(Clone, Copy)]
pub struct Credentials<'a> {
    /// The login name. A bearer token needs none: it says whose it is.
    pub username: Option<&'a str>,
    /// What proves it.
    pub secret: Secret<'a>,
    /// What the caller wants to be; requests over HTTP are users.
    pub role: Role,
    /// The device a driver wants to speak for; empty for everybody else.
    pub device_id: &'a str,
    /// Where the attempt comes from: failures are counted by user and address.
    pub peer: IpAddr,
}

/// A password or a raw token.
#[derive(Clone, Copy)]
pub enum Secret<'a> {
    /// For people.
    Password(&'a str),
    /// For machines, and for people's sessions.
    Token(&'a str),
}

impl<'a> Secret<'a> {
    /// The one that was given, where a request has room for both. Machines need a token.
    pub fn choose(
        password: Option<&'a str>,
        token: Option<&'a str>,
        role: Role,
    ) -> Result<Secret<'a>, Error> {
        let password = password.map(str::trim).filter(|text| !text.is_empty());
        let token = token.filter(|text| !text.is_empty());
        match (password, token) {
            (Some(_), Some(_)) => Err(Error::either_password_or_token()),
            (_, None) if role != Role::User => Err(Error::token_required()),
            (None, None) => Err(Error::credential_required()),
            (Some(password), None) => Ok(Secret::Password(password)),
            (None, Some(token)) => Ok(Secret::Token(token)),
        }
    }
}

/// Who it was.
#[derive(Clone, Debug)]
pub struct Authenticated {
    /// The account; never a locked one.
    pub account: Account,
    /// The token, when it was one.
    pub token: Option<Token>,
}

impl Authenticated {
    /// Whether whoever it was may answer approvals: with a password, or with a token that says so.
    pub fn may_approve(&self) -> bool {
        self.token.as_ref().is_none_or(|token| token.approve && token.kind == TokenKind::User)
    }
}

/// What became of a token.
enum TokenLookup {
    Good(Box<Token>),
    /// Alive and the user's, but bound to this other device.
    OtherDevice(DeviceId),
    /// Alive, but its user may not have services.
    NoServices,
    Nothing,
}

/// A user there is not: looked for in the place of one that is not found, so that as much is asked of the store.
const NOBODY: Uid = Uid(u32::MAX);

/// Whether services may log in as an account: root, or a member of the group `services`.
pub fn may_have_services(account: &Account) -> bool {
    account.uid.is_root() || account.gids.contains(&Gid::SERVICES)
}

impl Authenticator {
    /// Nobody has tried yet.
    pub fn new(store: Store, clock: Clock, random: Random) -> Authenticator {
        Authenticator { store, clock, passwords: Passwords::new(random), throttle: Throttle::default() }
    }

    /// The hashes of passwords.
    pub fn passwords(&self) -> &Passwords {
        &self.passwords
    }

    /// The account behind credentials. 401 when they are wrong, 429 after too many that were; failed tokens and failed
    /// passwords are counted apart, so that a machine with an old token does not lock its owner out.
    pub async fn authenticate(&self, credentials: &Credentials<'_>) -> Result<Authenticated, Error> {
        match credentials.secret {
            Secret::Password(password) => self.by_password(credentials, password).await,
            Secret::Token(raw) => self.by_token(credentials, raw).await,
        }
    }

    /// Whether somebody elsewhere may set the gateway up: 403 without the code, 429 after too many wrong ones.
    pub fn check_setup_code(&self, code: &SetupCode, given: Option<&str>, peer: IpAddr) -> Result<(), Error> {
        let Some(given) = given.filter(|text| !text.trim().is_empty()) else {
            return Err(Error::setup_code_required());
        };
        let attempt = self.throttle.begin(Realm::SetupCode, "", peer, self.clock.now_ms());
        let attempt = attempt.map_err(Error::too_many_logins)?;
        if given.len() > limits::login::TOKEN_MAX_BYTES || !code.fits(given) {
            return Err(Error::setup_code_wrong());
        }
        attempt.succeeded();
        Ok(())
    }

    async fn by_password(&self, given: &Credentials<'_>, password: &str) -> Result<Authenticated, Error> {
        let username = given.username.filter(|name| !name.is_empty()).ok_or_else(Error::username_required)?;
        if given.role != Role::User {
            return Err(Error::token_required());
        }
        let account = self.store.accounts().by_name(username).await?;
        let attempt = self.throttle.begin(Realm::Password, username, given.peer, self.clock.now_ms());
        let attempt = attempt.map_err(Error::too_many_logins)?;
        if !self.password_fits(account.as_ref(), password, given.peer).await? {
            return Err(Error::authentication_failed());
        }
        let account = account.ok_or_else(Error::authentication_failed)?;
        attempt.succeeded();
        Ok(Authenticated { account, token: None })
    }

    async fn password_fits(
        &self,
        account: Option<&Account>,
        password: &str,
        peer: IpAddr,
    ) -> Result<bool, Error> {
        if password.len() > limits::login::PASSWORD_MAX_BYTES {
            return Ok(false);
        }
        let usable = account.filter(|account| !account.locked && !is_unset(&account.hash));
        let fits = self.passwords.verify(password, usable.map(|account| account.hash.as_str()), peer).await?;
        Ok(fits && usable.is_some())
    }

    async fn by_token(&self, given: &Credentials<'_>, raw: &str) -> Result<Authenticated, Error> {
        let (account, found) = self.find(given, raw).await?;
        match (account, found) {
            (Some(account), TokenLookup::Good(token)) => {
                // A good token is let in whoever else fails from the same address.
                self.note_use(&token);
                return Ok(Authenticated { account, token: Some(*token) });
            }
            // Whoever holds a token that is alive may know what it is for. That is no guess, so it does not count as one.
            (_, TokenLookup::OtherDevice(device)) => {
                let details = serde_json::json!({ "deviceId": device });
                return Err(Error::token_of_other_device(&device.0).with_details(details));
            }
            (_, TokenLookup::NoServices) => return Err(Error::services_only()),
            (_, TokenLookup::Good(_) | TokenLookup::Nothing) => {}
        }
        let username = given.username.unwrap_or_default();
        // Dropped without success, which counts it.
        let attempt = self.throttle.begin(Realm::Token, username, given.peer, self.clock.now_ms());
        drop(attempt.map_err(Error::too_many_logins)?);
        Err(Error::authentication_failed())
    }

    /// The account a token is for, unless it is locked, and what the token is good for.
    async fn find(
        &self,
        given: &Credentials<'_>,
        raw: &str,
    ) -> Result<(Option<Account>, TokenLookup), Error> {
        if raw.len() > limits::login::TOKEN_MAX_BYTES {
            return Ok((None, TokenLookup::Nothing));
        }
        // The same is done whoever is named: one hash, one look for the account, one for the token, one comparison.
        let hash = tokens::hash(raw);
        let (account, token) = match given.username {
            Some(username) => {
                let account = self.store.accounts().by_name(username).await?;
                let uid = account.as_ref().map_or(NOBODY, |account| account.uid);
                (account, self.store.tokens().by_hash(uid, &hash).await?)
            }
            None => {
                let token = self.store.tokens().with_hash(&hash).await?;
                let uid = token.as_ref().map_or(NOBODY, |token| token.uid);
                (self.store.accounts().by_uid(uid).await?, token)
            }
        };
        let Some(account) = account.filter(|account| !account.locked) else {
            return Ok((None, TokenLookup::Nothing));
        };
        let found = match token {
            Some(token) => self.judge(given, &account, token, &hash),
            None => TokenLookup::Nothing,
        };
        Ok((Some(account), found))
    }

    fn judge(&self, given: &Credentials<'_>, account: &Account, token: Token, hash: &str) -> TokenLookup {
        let is_alive = token.revoked_at.is_none()
            && token.expires_at.is_none_or(|end| end > self.clock.now_ms())
            && token.allowed_role == given.role
            && bool::from(token.hash.as_bytes().ct_eq(hash.as_bytes()));
        let bound = token.allowed_device_id.as_deref().filter(|_| given.role == Role::Driver);
        match bound.map(|id| DeviceId(id.to_string())) {
            _ if !is_alive => TokenLookup::Nothing,
            _ if given.role == Role::Service && !may_have_services(account) => TokenLookup::NoServices,
            Some(bound) if !bound.is_named(given.device_id) => TokenLookup::OtherDevice(bound),
            _ => TokenLookup::Good(Box::new(token)),
        }
    }

    /// Writes down when a token was last used, now and then and beside the login.
    fn note_use(&self, token: &Token) {
        let now_ms = self.clock.now_ms();
        if token.last_used_at.is_some_and(|last| now_ms - last <= limits::login::WINDOW_MS) {
            return;
        }
        let (store, id) = (self.store.clone(), token.token_id.clone());
        tokio::spawn(async move {
            if let Err(error) = store.tokens().used(&id, now_ms).await {
                tracing::warn!(%error, "a token's last use could not be noted");
            }
        });
    }
}
