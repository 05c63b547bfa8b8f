//! `sys.connect`: logging in.

use std::sync::{Arc, Mutex, RwLock};
use std::time::Instant;

use base::limits;
use protocol::args::{self, Members};
use protocol::capability;
use protocol::error::Error;
use protocol::identity::{ConnectionIdentity, ProcessIdentity, Role};
use protocol::ids::{DeviceId, TokenId};
use protocol::signal::{self, DeviceEvent};
use protocol::sys::{Auth, Connect, Connected, Server};
use store::accounts::Account;
use store::devices::{Device, Registration};

use crate::caller::Ticket;
use crate::connections::{Connection, DriverLogin, Login};
use crate::outbox::Close;
use crate::{Kernel, access, passwords, routes, signals, store_error, tasks};

/// Handles the request; one attempt per socket at a time.
pub(crate) fn begin(kernel: &Arc<Kernel>, connection: &Arc<Connection>, ticket: Ticket, raw: &str) {
    if !connection.begin_login() {
        return ticket.fail(Error::already_connected());
    }
    let request = precheck(kernel, raw);
    let (kernel, connection) = (kernel.clone(), connection.clone());
    tasks::run(async move {
        let result = match request {
            Ok((request, role)) => log_in(&kernel, &connection, &request, role).await,
            Err(error) => Err(error),
        };
        match result {
            Err(error) => {
                connection.abandon_login();
                ticket.fail(error);
            }
            Ok(arrival) => {
                let text = ticket.head() + &protocol::frame::to_json(&arrival.connected);
                ticket.answer(Ok(text));
                if let Some(device) = arrival.device {
                    attach(&kernel, &connection, &device);
                }
            }
        }
    });
}

/// Checks 1 to 4 of the documented order, before anything else is looked at.
fn precheck(kernel: &Kernel, raw: &str) -> Result<(Connect, Role), Error> {
    let members = Members::parse(raw).ok_or_else(Error::unsupported_protocol)?;
    if members.get("protocol").and_then(|text| text.parse::<f64>().ok()) != Some(1.0) {
        return Err(Error::unsupported_protocol());
    }
    let client = members.get("client").and_then(Members::parse);
    let role = client.and_then(|client| Role::parse(&client.text("role")?)).ok_or_else(Error::invalid_role)?;
    if kernel.in_setup_mode() {
        return Err(Error::setup_required());
    }
    let normal = members.rewrite(&[], &[("protocol", "1")]);
    Ok((args::decode::<Connect>(&normal)?, role))
}

/// What a login leads to.
struct Arrival {
    connected: Connected,
    device: Option<Device>,
}

async fn log_in(
    kernel: &Arc<Kernel>,
    connection: &Arc<Connection>,
    request: &Connect,
    role: Role,
) -> Result<Arrival, Error> {
    let auth = request.auth.as_ref().ok_or_else(Error::authentication_required)?;
    let (account, token_id) = authenticate(kernel, connection, request, auth, role).await?;
    let driver = check_role(request, role)?;
    let identity = identity_of(&account);
    let device = match &driver {
        Some(driver) => Some(register(kernel, request, &account, driver).await?),
        None => None,
    };
    let generation = kernel.grants.generation();
    let capabilities = access::capabilities_for(kernel, role, &identity.gids);
    let connected = Connected {
        protocol: 1,
        server: Server { version: kernel.version.clone(), connection_id: connection.id() },
        identity: describe(request, role, &identity, &capabilities.patterns),
        syscalls: access::callable(&capabilities, role, identity.uid.is_root()),
        signals: signal::names_for(role),
    };
    let login = Login {
        role,
        client_id: request.client.id.trim().to_string(),
        token_id,
        driver,
        account: RwLock::new(Arc::new(identity)),
        capabilities: Mutex::new((generation, capabilities)),
        since: Instant::now(),
    };
    let replaced = kernel.connections.log_in(connection, login);
    if let Some(older) = replaced {
        older.close(Close::REPLACED);
    }
    Ok(Arrival { connected, device })
}

async fn authenticate(
    kernel: &Kernel,
    connection: &Connection,
    request: &Connect,
    auth: &Auth,
    role: Role,
) -> Result<(Account, Option<TokenId>), Error> {
    let password = auth.password.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let token = auth.token.as_deref().filter(|text| !text.is_empty());
    if auth.username.is_empty() {
        return Err(Error::username_required());
    }
    let (peer, now_ms) = (connection.peer, kernel.clock.now_ms());
    let machine = role != Role::User;
    let credential = match (password, token) {
        (Some(_), Some(_)) => return Err(Error::either_password_or_token()),
        (_, None) if machine => return Err(Error::token_required()),
        (None, None) => return Err(Error::credential_required()),
        (Some(password), None) => Credential::Password(password),
        (None, Some(token)) => Credential::Token(token),
    };
    if let Some(seconds) = kernel.logins.wait_seconds(&auth.username, peer, now_ms) {
        return Err(Error::too_many_logins(seconds));
    }
    let account = kernel.store.account(&auth.username).await.map_err(store_error)?;
    let verified = match credential {
        Credential::Password(password) => verify_password(kernel, account.as_ref(), password).await?.then_some(None),
        Credential::Token(token) => {
            let account = account.as_ref().filter(|account| !account.locked);
            verify_token(kernel, account, token, role, &request.client.id).await?.map(Some)
        }
    };
    match (account, verified) {
        (Some(account), Some(token_id)) => {
            kernel.logins.succeeded(&auth.username, peer);
            Ok((account, token_id))
        }
        _ => {
            kernel.logins.failed(&auth.username, peer, now_ms);
            Err(Error::authentication_failed())
        }
    }
}

enum Credential<'a> {
    Password(&'a str),
    Token(&'a str),
}

async fn verify_password(kernel: &Kernel, account: Option<&Account>, password: &str) -> Result<bool, Error> {
    if password.len() > limits::PASSWORD_BYTES_MAX {
        return Ok(false);
    }
    let usable = account.filter(|account| !account.locked && !passwords::is_unset(&account.hash));
    let fits = kernel.passwords.verify(password, usable.map(|account| account.hash.as_str())).await?;
    Ok(fits && usable.is_some())
}

/// The token's id when it is the user's, alive, for this role and, if bound, for this device.
async fn verify_token(
    kernel: &Kernel,
    account: Option<&Account>,
    raw: &str,
    role: Role,
    client_id: &str,
) -> Result<Option<TokenId>, Error> {
    let Some(account) = account else { return Ok(None) };
    let hash = passwords::token_hash(raw);
    let found = kernel.store.token_by_hash(account.uid, &hash).await.map_err(store_error)?;
    let now_ms = kernel.clock.now_ms();
    let good = found.filter(|token| {
        let bound = token.allowed_device_id.as_deref();
        token.revoked_at.is_none()
            && token.expires_at.is_none_or(|end| end > now_ms)
            && token.allowed_role == role
            && (role != Role::Driver || bound.is_none_or(|device| device == client_id))
    });
    let Some(token) = good else { return Ok(None) };
    if token.last_used_at.is_none_or(|last| now_ms - last > limits::LOGIN_WINDOW_MS) {
        let (store, id) = (kernel.store.clone(), token.token_id.clone());
        tasks::run(async move {
            if let Err(error) = store.token_used(&id, now_ms).await {
                tracing::warn!(%error, "a token's last use could not be noted");
            }
        });
    }
    Ok(Some(token.token_id))
}

/// Checks 12 to 14: what a role needs besides credentials.
fn check_role(request: &Connect, role: Role) -> Result<Option<DriverLogin>, Error> {
    match role {
        Role::User => Ok(None),
        Role::Service => {
            let channel = request.client.channel.as_deref().map(str::trim).unwrap_or_default();
            if channel.is_empty() { Err(Error::channel_required()) } else { Ok(None) }
        }
        Role::Driver => {
            let driver = request.driver.as_ref().filter(|driver| !driver.implements.is_empty());
            let driver = driver.ok_or_else(Error::implements_required)?;
            if let Some(bad) = driver.implements.iter().find(|pattern| !capability::is_valid(pattern)) {
                return Err(Error::invalid_implements(bad));
            }
            if driver.implements.len() > limits::IMPLEMENTS_MAX {
                return Err(Error::invalid_implements("too many patterns"));
            }
            let id = request.client.id.trim();
            let valid = !id.is_empty() && id.len() <= limits::CLIENT_ID_BYTES_MAX && !id.contains(char::is_control);
            // The gateway itself is the target `gsv`; a device of that name could never be reached.
            if !valid || id == "gsv" {
                return Err(Error::invalid_client_id());
            }
            Ok(Some(DriverLogin { device_id: DeviceId(id.to_string()), instance: driver.instance.clone() }))
        }
    }
}

async fn register(
    kernel: &Kernel,
    request: &Connect,
    account: &Account,
    driver: &DriverLogin,
) -> Result<Device, Error> {
    let registration = Registration {
        device_id: driver.device_id.clone(),
        owner_uid: account.uid,
        owner_gid: account.gid,
        implements: request.driver.as_ref().map(|driver| driver.implements.clone()).unwrap_or_default(),
        platform: short(&request.client.platform),
        version: short(&request.client.version),
        now_ms: kernel.clock.now_ms(),
    };
    let device = kernel.store.device_register(registration).await.map_err(store_error)?;
    device.ok_or_else(|| Error::device_taken(&driver.device_id.0))
}

/// What a client says of itself, fit to be kept and shown.
fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(limits::LABEL_CHARS_MAX).collect()
}

/// From here on calls reach the device over this socket. The answer to `sys.connect` is on its way already.
fn attach(kernel: &Arc<Kernel>, connection: &Arc<Connection>, device: &Device) {
    kernel.devices.put(device.clone());
    if let Some(old) = kernel.devices.attach(&device.device_id, connection) {
        let instance = |one: &Connection| {
            one.login().and_then(|login| login.driver.as_ref()).and_then(|driver| driver.instance.clone())
        };
        if instance(&old).is_some() && instance(&old) == instance(connection) {
            routes::move_all(&old, connection);
        } else {
            routes::fail_all(kernel, &old);
        }
        old.close(Close::REPLACED);
    }
    signals::device_status(kernel, DeviceEvent::Connected, device);
}

fn describe(
    request: &Connect,
    role: Role,
    identity: &ProcessIdentity,
    patterns: &[String],
) -> ConnectionIdentity {
    let (process, capabilities) = (identity.clone(), patterns.to_vec());
    match role {
        Role::User => ConnectionIdentity::User { process, capabilities },
        Role::Driver => ConnectionIdentity::Driver {
            process,
            capabilities,
            device: request.client.id.trim().to_string(),
            implements: request.driver.as_ref().map(|driver| driver.implements.clone()).unwrap_or_default(),
        },
        Role::Service => ConnectionIdentity::Service {
            process,
            capabilities,
            channel: request.client.channel.clone().unwrap_or_default(),
        },
    }
}

/// An account as connections and processes carry it.
pub(crate) fn identity_of(account: &Account) -> ProcessIdentity {
    ProcessIdentity {
        uid: account.uid,
        gid: account.gid,
        gids: account.gids.clone(),
        username: account.username.clone(),
        home: account.home.clone(),
        cwd: account.home.clone(),
        workspace_id: None,
    }
}
