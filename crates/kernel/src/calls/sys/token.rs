//! Handlers of `sys.token.*`: issuing, listing and revoking tokens.

use base::limits;
use protocol::error::Error;
use protocol::identity::Role;
use protocol::ids::{DeviceId, TokenId, Uid};
use protocol::sys::token::{Create, Created, List, Listed, NewToken, Record, Revoke, Revoked, TokenKind};
use store::tokens::{NewToken as Row, Token};

use crate::calls::Cx;
use crate::connections::Login;
use crate::outbox::Close;

pub(crate) async fn create(cx: Cx, args: Create) -> Result<Created, Error> {
    let uid = whose(&cx, args.uid, "create tokens for another user")?.unwrap_or(cx.caller.uid());
    let kind =
        TokenKind::parse(&args.kind).ok_or_else(|| Error::bad("kind must be one of: node, service, user"))?;
    if let Some(role) = &args.allowed_role {
        let role = Role::parse(role)
            .ok_or_else(|| Error::bad("allowedRole must be one of: driver, service, user"))?;
        if role != kind.role() {
            let expected = kind.role().as_str();
            return Err(Error::bad(format!(
                "Invalid allowedRole for kind={}: expected {expected}",
                kind.as_str()
            )));
        }
    }
    let device = args.allowed_device_id.as_deref().map(str::trim).filter(|id| !id.is_empty());
    if device.is_some() && kind != TokenKind::Node {
        return Err(Error::bad("allowedDeviceId is only valid for driver-bound tokens"));
    }
    let device = device.map(|name| bound_device(&cx, uid, name)).transpose()?;
    let approve = may_approve(&cx, kind, args.approve)?;
    let now_ms = cx.kernel.clock.now_ms();
    let expires_at = check_expiry("expiresAt", args.expires_at, now_ms)?;
    let (expires_at, parent_id) = within_login(&cx, expires_at)?;
    let known = cx.kernel.store.accounts().by_uid(uid).await?;
    let owner = known.ok_or_else(|| Error::not_found(format!("Unknown uid: {uid}")))?;
    if kind == TokenKind::Service && !auth::may_have_services(&owner) {
        return Err(Error::services_only());
    }
    let raw = auth::tokens::new(kind, cx.kernel.gateway.random());
    let row = Row {
        token_id: TokenId(cx.kernel.gateway.random().uuid()),
        uid,
        kind,
        label: check_label("label", args.label.as_deref())?,
        hash: auth::tokens::hash(&raw),
        prefix: auth::tokens::prefix(&raw),
        allowed_device_id: device.map(|device| device.0),
        created_at: now_ms,
        expires_at,
        approve,
        parent_id,
    };
    let token = cx.kernel.store.tokens().create(row).await?;
    let token = token.ok_or_else(Error::authentication_failed)?;
    Ok(Created { token: with_secret(&token, raw) })
}

pub(crate) async fn list(cx: Cx, args: List) -> Result<Listed, Error> {
    let named = whose(&cx, args.uid, "list tokens for another user")?;
    let uid = if cx.caller.is_root() { named } else { Some(cx.caller.uid()) };
    let tokens = cx.kernel.store.tokens().of(uid).await?;
    Ok(Listed { tokens: tokens.into_iter().map(record).collect() })
}

pub(crate) async fn revoke(cx: Cx, args: Revoke) -> Result<Revoked, Error> {
    let named = whose(&cx, args.uid, "revoke tokens for another user")?;
    let uid = if cx.caller.is_root() { named } else { Some(cx.caller.uid()) };
    if args.token_id.trim().is_empty() {
        return Err(Error::missing_argument("sys.token.revoke", "tokenId"));
    }
    let id = TokenId(args.token_id.trim().to_string());
    let reason = check_label("reason", args.reason.as_deref())?;
    let now_ms = cx.kernel.clock.now_ms();
    let revoked = cx.kernel.store.tokens().revoke(&id, uid, reason.as_deref(), now_ms).await?;
    let is_by_one = |login: &Login| revoked.iter().any(|id| login.is_by(id));
    if !revoked.is_empty() {
        for connection in cx.kernel.connections.select(is_by_one) {
            let own = cx.caller.origin.connection().is_some_and(|own| own.number() == connection.number);
            if own {
                // Whoever revokes the token it logged in with still gets its answer.
                connection.parting.get_or_init(|| Close::REVOKED);
            } else {
                connection.close(Close::REVOKED);
            }
        }
    }
    Ok(Revoked { revoked: !revoked.is_empty() })
}

/// Whether logins with a new token may answer approvals: as told, else as the connection that makes it. No token gives
/// more than whoever makes it has.
fn may_approve(cx: &Cx, kind: TokenKind, wanted: Option<bool>) -> Result<bool, Error> {
    match wanted {
        Some(true) if kind != TokenKind::User => Err(Error::bad("approve is only valid for user tokens")),
        Some(true) if !cx.caller.may_approve => Err(Error::approving_login_required("approve")),
        Some(wanted) => Ok(wanted),
        None => Ok(kind == TokenKind::User && cx.caller.may_approve),
    }
}

/// When a new token ends: not later than the login that makes it; and the token of that login, with which it is revoked.
/// Where the login is not known, as in the gateway's own shell, none is made.
fn within_login(cx: &Cx, wanted: Option<i64>) -> Result<(Option<i64>, Option<TokenId>), Error> {
    let connection = cx.kernel.connections.behind(&cx.caller.origin);
    let login = connection.as_ref().and_then(|connection| connection.login());
    let login = login.ok_or_else(|| {
        Error::forbidden("Permission denied: tokens are made over a connection of one's own, not from within the gateway; use `gsv auth token create`")
    })?;
    let parent_id = login.token.as_ref().map(|token| token.token_id.clone());
    Ok((wanted.into_iter().chain(login.ends_at()).min(), parent_id))
}

/// The device a token is bound to: one of the user's under its own name, or one to come.
fn bound_device(cx: &Cx, owner: Uid, name: &str) -> Result<DeviceId, Error> {
    let known = cx.kernel.devices.get(&DeviceId(name.to_string())).filter(|known| known.owner_uid == owner);
    let device = known.map(|known| known.device_id.clone()).or_else(|| DeviceId::parse(name));
    device.ok_or_else(|| Error::bad(format!("allowedDeviceId is not a device id: {}", DeviceId::RULE)))
}

/// The uid a call names. Only root may name another than itself.
fn whose(cx: &Cx, named: Option<Uid>, what: &str) -> Result<Option<Uid>, Error> {
    match named {
        Some(uid) if uid != cx.caller.uid() && !cx.caller.is_root() => {
            Err(Error::forbidden(format!("Permission denied: cannot {what}")))
        }
        named => Ok(named),
    }
}

/// A moment in the future, in whole milliseconds.
pub(crate) fn check_expiry(field: &str, at: Option<f64>, now_ms: i64) -> Result<Option<i64>, Error> {
    let Some(at) = at else { return Ok(None) };
    if !at.is_finite() || at.abs() > 9e15 {
        return Err(Error::bad(format!("{field} must be a unix timestamp in milliseconds")));
    }
    let at = at.floor() as i64;
    if at <= now_ms { Err(Error::bad(format!("{field} must be in the future"))) } else { Ok(Some(at)) }
}

/// A short text for people; blank counts as none.
pub(crate) fn check_label(field: &str, label: Option<&str>) -> Result<Option<String>, Error> {
    let label = label.map(str::trim).filter(|label| !label.is_empty());
    if label.is_some_and(|label| label.chars().count() > limits::config::LABEL_MAX_CHARS) {
        return Err(Error::bad(format!(
            "{field} must be at most {} characters",
            limits::config::LABEL_MAX_CHARS
        )));
    }
    if label.is_some_and(|label| label.contains(char::is_control)) {
        return Err(Error::bad(format!("{field} must not contain control characters")));
    }
    Ok(label.map(str::to_string))
}

/// A token's row together with its raw value, which is shown once.
pub(crate) fn with_secret(token: &Token, raw: String) -> NewToken {
    NewToken {
        token_id: token.token_id.clone(),
        token: raw,
        token_prefix: token.prefix.clone(),
        uid: token.uid,
        kind: token.kind,
        label: token.label.clone(),
        allowed_role: Some(token.allowed_role),
        allowed_device_id: token.allowed_device_id.clone(),
        created_at: token.created_at,
        expires_at: token.expires_at,
        approve: token.approve,
    }
}

fn record(token: Token) -> Record {
    Record {
        token_id: token.token_id,
        uid: token.uid,
        kind: token.kind,
        label: token.label,
        token_prefix: token.prefix,
        allowed_role: Some(token.allowed_role),
        allowed_device_id: token.allowed_device_id,
        created_at: token.created_at,
        last_used_at: token.last_used_at,
        expires_at: token.expires_at,
        revoked_at: token.revoked_at,
        revoked_reason: token.revoked_reason,
        approve: token.approve,
    }
}
