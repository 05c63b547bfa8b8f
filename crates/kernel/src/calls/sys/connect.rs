//! Handler of `sys.connect`: login, roles, replacement of older sockets, replay of signals.

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, RwLock};

use auth::{Authenticated, Credentials, Secret};
use base::limits;
use protocol::args::{self, Members};
use protocol::capability;
use protocol::confine::Confinement;
use protocol::error::Error;
use protocol::identity::{ConnectionIdentity, ProcessIdentity, Role};
use protocol::ids::DeviceId;
use protocol::signal::{self, DeviceEvent, alias};
use protocol::sys::{Auth, Connect, Connected, Driver, FEATURE_SESSIONS, Resume, Server};
use store::accounts::Account;
use store::devices::{Device, Registration};
use store::tokens::Token;

use super::setup;
use crate::codec::Aliased;
use crate::connections::{Connection, DriverLogin, Login, LoginToken};
use crate::outbox::Close;
use crate::ticket::Ticket;
use crate::{Kernel, access, connections, routes, signals, tasks};

/// Handles the request; one attempt per socket at a time.
pub(crate) fn begin(kernel: &Arc<Kernel>, connection: &Arc<Connection>, ticket: Ticket, raw: &str) {
    if !connection.begin_login() {
        return ticket.fail(Error::already_connected());
    }
    let request = precheck(kernel, connection, raw);
    let (kernel, claim) = (kernel.clone(), Claim(connection.clone()));
    tasks::run(async move {
        let connection = &claim.0;
        let result = match request {
            Ok((request, role)) => log_in(&kernel, connection, &request, role).await,
            Err(error) => Err(error),
        };
        match result {
            Err(error) => {
                drop(claim);
                ticket.fail(error);
            }
            Ok(arrival) => {
                let (connected, resume) = (arrival.connected, arrival.resume);
                signals::attach(&kernel, connection, resume.as_ref(), |resume| {
                    let connected = Connected { resume, ..connected };
                    let text = ticket.head() + &protocol::frame::to_json(&connected);
                    ticket.answer(Ok(text));
                });
                if let Some(device) = &arrival.device {
                    signals::device_status(&kernel, DeviceEvent::Connected, device);
                }
            }
        }
    });
}

/// The claim on a socket's one login attempt; given back unless the login worked.
struct Claim(Arc<Connection>);

impl Drop for Claim {
    fn drop(&mut self) {
        if self.0.login().is_none() {
            self.0.abandon_login();
        }
    }
}

/// Checks 1 to 4 of the documented order, before anything else is looked at.
fn precheck(kernel: &Kernel, connection: &Connection, raw: &str) -> Result<(Connect, Role), Error> {
    let members = Members::parse(raw).ok_or_else(Error::unsupported_protocol)?;
    if members.get("protocol").and_then(|text| text.parse::<f64>().ok()) != Some(1.0) {
        return Err(Error::unsupported_protocol());
    }
    let client = members.get("client").and_then(Members::parse);
    let role =
        client.and_then(|client| Role::parse(&client.text("role")?)).ok_or_else(Error::invalid_role)?;
    if kernel.in_setup_mode() {
        return Err(setup::required(connection));
    }
    let normal = members.rewrite(&[], &[("protocol", "1")]);
    Ok((args::decode::<Connect>(&normal)?, role))
}

/// What a login leads to.
struct Arrival {
    connected: Connected,
    resume: Option<Resume>,
    device: Option<Device>,
}

async fn log_in(
    kernel: &Arc<Kernel>,
    connection: &Arc<Connection>,
    request: &Connect,
    role: Role,
) -> Result<Arrival, Error> {
    let auth = request.auth.as_ref().ok_or_else(Error::authentication_required)?;
    let authenticated = authenticate(kernel, connection, request, auth, role).await?;
    let may_approve = authenticated.may_approve();
    let Authenticated { account, token } = authenticated;
    let driver = check_role(kernel, request, role)?;
    let identity = account.identity();
    let device = match &driver {
        Some(driver) => Some(register(kernel, request, &account, driver).await?),
        None => None,
    };
    let generation = kernel.gateway.standing_generation();
    let capabilities = access::capabilities_for(kernel, role, &identity.gids);
    let mut announced = signal::names_for(role);
    let is_shipped = role == Role::User && alias::is_wanted_by(&request.client.version);
    if is_shipped && connection.speak(&Aliased) {
        announced.extend(alias::ALIASES.iter().map(|alias| alias.name.to_string()));
    }
    let connected = Connected {
        protocol: 1,
        server: Server { version: kernel.version.clone(), connection_id: connection.id() },
        identity: describe(request, driver.as_ref(), role, &identity, &capabilities.patterns),
        syscalls: access::callable(&capabilities, role, identity.uid.is_root(), may_approve),
        signals: announced,
        resume: None,
    };
    let login = Login {
        role,
        client_id: match &driver {
            Some(driver) => driver.device_id.0.clone(),
            None => request.client.id.trim().to_string(),
        },
        token: token
            .as_ref()
            .map(|token| LoginToken { token_id: token.token_id.clone(), expires_at: token.expires_at }),
        may_approve,
        driver,
        streams: request.streams.unwrap_or_default(),
        follows_sessions: request.client.features.iter().any(|feature| feature == FEATURE_SESSIONS),
        account: RwLock::new(Arc::new(identity)),
        capabilities: Mutex::new((generation, capabilities)),
        sessions_ended: AtomicI64::new(account.sessions_ended),
        since: kernel.clock.instant(),
        memory: kernel.connections.memory_of(account.uid),
    };
    let live = kernel.connections.log_in(connection, login);
    if let Some(device) = &device {
        attach(kernel, connection, device).await;
    }
    if !live {
        return Err(Error::stopping());
    }
    if let Some(end_ms) = token.as_ref().and_then(|token| token.expires_at) {
        kernel.alarms.expiry.within(connections::until(end_ms, kernel.clock.now_ms()));
    }
    recheck(kernel, connection, &account, token.as_ref()).await?;
    if role == Role::User {
        let who = Arc::new(account.identity());
        for area in &kernel.areas {
            area.clone().logged_in(who.clone()).await;
        }
    }
    Ok(Arrival { connected, resume: request.resume.clone(), device })
}

/// Root may have locked, removed or regrouped the user, or the token may have been revoked, while the login was
/// under way. From here on such changes reach the socket, so looking once more is enough.
async fn recheck(
    kernel: &Kernel,
    connection: &Connection,
    before: &Account,
    token: Option<&Token>,
) -> Result<(), Error> {
    let now = kernel.store.accounts().by_uid(before.uid).await?;
    let revoked = match token {
        None => false,
        Some(token) => {
            let found = kernel.store.tokens().by_hash(before.uid, &token.hash).await?;
            found.is_none_or(|found| found.revoked_at.is_some())
        }
    };
    // Who logged in with the password must still know it, and must not have been thrown out for not changing it.
    let is_outdated = |account: &Account| {
        token.is_none() && (account.hash != before.hash || account.sessions_ended != before.sessions_ended)
    };
    match now.filter(|account| !account.locked && !revoked && !is_outdated(account)) {
        None => {
            connection.close(Close::REVOKED);
            Err(Error::authentication_failed())
        }
        Some(account) => {
            // A token that is good still was spared when the sessions were ended.
            if let Some(login) = connection.login() {
                login.outlasts(account.sessions_ended);
            }
            if account.gids != before.gids {
                kernel.refresh_account(&account.identity());
            }
            Ok(())
        }
    }
}

async fn authenticate(
    kernel: &Kernel,
    connection: &Connection,
    request: &Connect,
    given: &Auth,
    role: Role,
) -> Result<Authenticated, Error> {
    if given.username.is_empty() {
        return Err(Error::username_required());
    }
    let secret = Secret::choose(given.password.as_deref(), given.token.as_deref(), role)?;
    let credentials = Credentials {
        username: Some(&given.username),
        secret,
        role,
        device_id: &request.client.id,
        peer: connection.peer,
    };
    kernel.authenticator.authenticate(&credentials).await
}

/// Checks 12 to 14: what a role needs besides credentials.
fn check_role(kernel: &Kernel, request: &Connect, role: Role) -> Result<Option<DriverLogin>, Error> {
    let lengthy = |text: &str| text.len() > limits::route::CLIENT_ID_MAX_BYTES;
    if lengthy(&request.client.id) || request.client.channel.as_deref().is_some_and(lengthy) {
        return Err(Error::invalid_client_id());
    }
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
            if driver.implements.len() > limits::route::IMPLEMENTS_MAX {
                return Err(Error::invalid_implements("too many patterns"));
            }
            let device_id = device_id(kernel, &request.client.id)?;
            if driver.instance.as_ref().is_some_and(|name| name.len() > limits::route::CLIENT_ID_MAX_BYTES) {
                return Err(Error::invalid_client_id());
            }
            let remembers = driver.remembers == Some(true) && driver.instance.is_some();
            let confinement = confinement(driver)?;
            Ok(Some(DriverLogin { device_id, instance: driver.instance.clone(), remembers, confinement }))
        }
    }
}

/// What a driver says about agents, within its bounds.
fn confinement(driver: &Driver) -> Result<Confinement, Error> {
    let told = &driver.confinement;
    let words = told.confine.as_deref().unwrap_or_default();
    let too_long = |text: &&String| text.len() > limits::route::CONFINE_PATH_MAX_BYTES;
    let paths = [&told.workspace, &told.home, &told.shell];
    if words.len() > limits::route::CONFINE_WORDS_MAX
        || words.iter().any(|word| word.len() > limits::route::CONFINE_WORD_MAX_BYTES)
        || paths.into_iter().flatten().any(|path| too_long(&path))
    {
        return Err(Error::bad_argument("sys.connect", "driver", "says too much about its sandbox"));
    }
    Ok(told.clone())
}

/// The device a driver speaks for: one that is known, in whatever case it is written, or a new one.
fn device_id(kernel: &Kernel, name: &str) -> Result<DeviceId, Error> {
    let known = kernel.devices.get(&DeviceId(name.trim().to_string()));
    let device_id = known.map(|known| known.device_id.clone()).or_else(|| DeviceId::parse(name));
    device_id.ok_or_else(|| Error::invalid_device_id(DeviceId::RULE))
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
    let device = kernel.store.devices().register(registration).await?;
    device.ok_or_else(|| Error::device_taken(&driver.device_id.0))
}

/// What a client says of itself, fit to be kept and shown.
fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(limits::config::LABEL_MAX_CHARS).collect()
}

/// From here on calls reach the device over this socket.
async fn attach(kernel: &Arc<Kernel>, connection: &Arc<Connection>, device: &Device) {
    match kernel.devices.attach(device, connection) {
        Ok(None) => {}
        Ok(Some(old)) => {
            let same = old.login().zip(connection.login()).is_some_and(|(old, new)| old.is_same_driver(new));
            if same {
                routes::move_all(kernel, &old, connection);
            } else {
                routes::fail_all(kernel, &old);
            }
            old.close(connections::close_of_replaced(&old, connection));
        }
        // The socket died while it logged in; the store thinks the device is there.
        Err(gone) if !gone.spoken_for => {
            let offline = kernel.store.devices().set_offline(&device.device_id, kernel.clock.now_ms()).await;
            if let Err(error) = offline {
                tracing::warn!(device = %device.device_id, %error, "the device could not be marked offline");
            }
        }
        Err(_) => {}
    }
}

fn describe(
    request: &Connect,
    driver: Option<&DriverLogin>,
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
            device: driver.map(|driver| driver.device_id.0.clone()).unwrap_or_default(),
            implements: request.driver.as_ref().map(|driver| driver.implements.clone()).unwrap_or_default(),
        },
        Role::Service => ConnectionIdentity::Service {
            process,
            capabilities,
            channel: request.client.channel.clone().unwrap_or_default(),
        },
    }
}
