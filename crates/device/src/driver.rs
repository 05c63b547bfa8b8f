//! Reconnect loop of a driver: exponential backoff with jitter, and the refusals that end it.

use std::sync::Arc;
use std::time::Duration;

use base::clock::Clock;
use base::limits;
use base::shutdown::Shutdown;
use client::{Connection, Events};
use protocol::spec::Syscall;
use protocol::sys::Connect;
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::agents::Agents;
use crate::fs;
use crate::ledger::Ledger;
use crate::machine::{Machine, router};
use crate::online::{self, Driver};
use crate::options::{Options, implements};
use crate::outbox::Outbox;
use crate::shell;

/// What happens, for whoever prints it.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// An attempt begins.
    Connecting {
        /// Counts from 1 since the last connection.
        attempt: u32,
    },
    /// The gateway has accepted the device.
    Connected {
        device_id: String,
        /// What it offers.
        implements: Vec<String>,
    },
    /// The connection ended, or could not be made.
    Lost {
        /// In words for a person.
        why: String,
        /// The pause before the next attempt.
        retry_ms: u64,
    },
    /// The gateway refused the device; it may change its mind.
    Refused {
        /// The error's code.
        code: i32,
        /// In the gateway's words.
        message: String,
        /// The pause before the next attempt.
        retry_ms: u64,
    },
    /// A stop was asked for; running commands are being ended.
    Stopping,
}

/// Why a driver cannot run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The gateway has no accounts yet.
    #[error("the gateway is not set up yet: run `gsv auth setup` first")]
    SetupMode,
    /// An option makes no sense.
    #[error("{0}")]
    Options(String),
    /// The device id is another user's, or the gateway forbids this device for good.
    #[error("{message} (choose another id with --id)")]
    DeviceTaken {
        /// In the gateway's words.
        message: String,
    },
    /// The gateway has refused the token a few times.
    #[error(
        "the gateway refuses the token of the device {device_id}: it is not one of {username}'s, or it was revoked or \
         has expired. Make a new one with `gsv auth token create --kind node --device {device_id}` and give it with \
         --token"
    )]
    TokenRefused {
        device_id: String,
        /// Whose it is to be.
        username: String,
    },
    /// The token is good, but for another device.
    #[error(
        "the token is for the device {bound_to}, not for {device_id}: run it with `--id {bound_to}`, or make a token with \
         `gsv auth token create --kind node --device {device_id}`"
    )]
    TokenOfOtherDevice {
        device_id: String,
        /// The device the token is for.
        bound_to: String,
    },
    /// Another driver took this one's place.
    #[error(
        "another driver connected as the device {device_id}, and this one stops: two machines can not share an id. Give \
         one of them another with --id, and a token of its own"
    )]
    TakenOver { device_id: String },
    /// The gateway does not understand this driver.
    #[error("the gateway refuses this driver: {message} (code {code})")]
    Refused {
        /// The error's code.
        code: i32,
        /// In the gateway's words.
        message: String,
    },
}

impl RunError {
    /// Whether starting the driver again, as a service manager does, can change nothing.
    pub fn is_final(&self) -> bool {
        matches!(
            self,
            RunError::TokenRefused { .. } | RunError::TokenOfOtherDevice { .. } | RunError::TakenOver { .. }
        )
    }
}

/// Runs until a stop is asked for. Running commands are ended on the way out.
pub async fn run(
    options: Options,
    mut shutdown: Shutdown,
    report: impl Fn(Report) + Send + Sync + 'static,
) -> Result<(), RunError> {
    options.check()?;
    let driver = driver(&options)?;
    forget_old_checkpoints(&options);
    let result = keep_connected(&options, &driver, &mut shutdown, &report).await;
    report(Report::Stopping);
    driver.machine.stop().await;
    result
}

/// Removes checkpoints of all workspaces that are too old or too many, aside from what is done meanwhile.
fn forget_old_checkpoints(options: &Options) {
    let Some(store) = options.state.as_ref().map(|state| state.join("checkpoints")) else { return };
    tokio::task::spawn_blocking(move || {
        if store.exists()
            && let Err(error) = checkpoint::prune_all(&store, Clock::system().now_ms())
        {
            tracing::warn!(%error, "old checkpoints are left");
        }
    });
}

fn driver(options: &Options) -> Result<Arc<Driver>, RunError> {
    let files = options.files()?;
    let router = router();
    let clock = Clock::system();
    let agents = Agents::new(options.agents, &files, shell::program(), options.sandbox(&clock));
    let agents = agents.keeping(options.state.as_deref(), files.workspace(), clock.clone());
    let mut names = router.names().to_vec();
    names.retain(|name| agents.overwritten().is_some() || !fs::NEED_KEPT.contains(name));
    let implements = implements(&names, &options.allow, files.is_confined());
    if implements.is_empty() {
        return Err(RunError::Options("--allow leaves nothing to offer".to_string()));
    }
    let outbox = Outbox::new(clock.clone());
    let statuses = outbox.clone();
    let machine = Machine::new(files, agents, clock.clone(), move |text| statuses.status(text));
    Ok(Arc::new(Driver {
        machine,
        router,
        implements,
        outbox,
        ledger: Ledger::new(clock.clone()),
        clock,
        requests: Arc::new(Semaphore::new(limits::device::REQUESTS_MAX)),
        refusals: Arc::new(Semaphore::new(limits::device::REQUESTS_MAX)),
    }))
}

async fn keep_connected(
    options: &Options,
    driver: &Arc<Driver>,
    shutdown: &mut Shutdown,
    report: &(impl Fn(Report) + Send + Sync),
) -> Result<(), RunError> {
    let instance = base::random::uuid();
    let mut backoff = Backoff::default();
    let (mut attempt, mut was_connected, mut refusals) = (0, false, 0);
    while !shutdown.is_requested() {
        attempt += 1;
        report(Report::Connecting { attempt });
        let opened = tokio::select! {
            opened = open(options, driver, &instance) => opened,
            () = shutdown.requested() => return Ok(()),
        };
        let retry_ms;
        match opened {
            Ok((connection, events)) => {
                report(Report::Connected {
                    device_id: options.device_id.clone(),
                    implements: driver.implements.clone(),
                });
                (attempt, was_connected, refusals) = (0, true, 0);
                let since = driver.clock.instant();
                let ended = online::work(driver, &connection, events, shutdown).await;
                connection.close().await;
                if shutdown.is_requested() {
                    return Ok(());
                }
                if ended.code == Some(protocol::sys::CLOSE_TAKEN_OVER) {
                    return Err(RunError::TakenOver { device_id: options.device_id.clone() });
                }
                if driver.clock.instant().saturating_duration_since(since) >= limits::device::RECONNECT_RESET
                {
                    backoff.reset();
                }
                retry_ms = backoff.next_ms();
                report(Report::Lost { why: ended.why, retry_ms });
            }
            Err(error) => {
                retry_ms = backoff.next_ms();
                let judged = judge(options, error, was_connected, retry_ms)?;
                refusals = if is_token_refused(&judged) { refusals + 1 } else { 0 };
                if refusals >= limits::device::REFUSALS_MAX {
                    let (device_id, username) = (options.device_id.clone(), options.username.clone());
                    return Err(RunError::TokenRefused { device_id, username });
                }
                report(judged);
            }
        }
        tokio::select! {
            () = sleep(Duration::from_millis(retry_ms)) => {}
            () = shutdown.requested() => {}
        }
    }
    Ok(())
}

async fn open(
    options: &Options,
    driver: &Driver,
    instance: &str,
) -> Result<(Connection, Events), client::Error> {
    let (connection, events) = Connection::open(&options.url).await?;
    // A driver needs nothing of the answer but that it is one.
    let args = options.connect_args(&driver.implements, driver.machine.agents.confinement(), instance);
    let args = protocol::frame::to_json(&args);
    connection.call_raw(Connect::SPEC.name, &args, limits::client::CONNECT_TIMEOUT).await?;
    Ok((connection, events))
}

/// Whether it was the token. A good one is let in however many others have failed, so that 429 says so too.
fn is_token_refused(report: &Report) -> bool {
    matches!(report, Report::Refused { code: 401 | 429, .. })
}

/// Whether another attempt can help.
fn judge(
    options: &Options,
    error: client::Error,
    was_connected: bool,
    retry_ms: u64,
) -> Result<Report, RunError> {
    let error = match error {
        client::Error::Gateway(error) => error,
        // The certificate may be renewed while this device waits.
        client::Error::Untrusted { ref hint, .. } => {
            return Ok(Report::Lost { why: format!("{error} ({hint})"), retry_ms });
        }
        other => return Ok(Report::Lost { why: other.to_string(), retry_ms }),
    };
    let bound_to = error.details.as_ref().and_then(|details| details["deviceId"].as_str());
    if let (401, Some(bound_to)) = (error.code, bound_to) {
        let (device_id, bound_to) = (options.device_id.clone(), bound_to.to_string());
        return Err(RunError::TokenOfOtherDevice { device_id, bound_to });
    }
    match error.code {
        425 if !was_connected => Err(RunError::SetupMode),
        403 => Err(RunError::DeviceTaken { message: error.message }),
        102 | 103 => Err(RunError::Refused { code: error.code, message: error.message }),
        code => Ok(Report::Refused { code, message: error.message, retry_ms }),
    }
}

/// The pauses between attempts: doubling, with jitter, so that many devices do not come back at once.
#[derive(Default)]
struct Backoff {
    failures: u32,
}

impl Backoff {
    fn next_ms(&mut self) -> u64 {
        let base = limits::device::RECONNECT_FIRST.saturating_mul(2u32.saturating_pow(self.failures));
        self.failures = (self.failures + 1).min(16);
        let base_ms = base.min(longest()).as_millis() as u64;
        base_ms / 2 + base::random::below(base_ms / 2 + 1)
    }

    fn reset(&mut self) {
        self.failures = 0;
    }
}

/// The longest pause. Tests that kill the gateway over and over can not wait for a minute, so builds with debug
/// assertions listen to `GSV_RECONNECT_MAX_MS`.
fn longest() -> Duration {
    let asked = if cfg!(debug_assertions) { std::env::var("GSV_RECONNECT_MAX_MS").ok() } else { None };
    let asked_ms = asked.and_then(|text| text.parse().ok());
    asked_ms.map_or(limits::device::RECONNECT_MAX, Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit_and_start_over() {
        let mut backoff = Backoff::default();
        let first = limits::device::RECONNECT_FIRST.as_millis() as u64;
        let max = limits::device::RECONNECT_MAX.as_millis() as u64;
        assert!((first / 2..=first).contains(&backoff.next_ms()));
        assert!((first..=first * 2).contains(&backoff.next_ms()));
        for _ in 0..40 {
            backoff.next_ms();
        }
        assert!((max / 2..=max).contains(&backoff.next_ms()));
        backoff.reset();
        assert!(backoff.next_ms() <= first);
    }

    #[test]
    fn only_hopeless_refusals_are_final() {
        let options = Options {
            url: String::new(),
            username: "alice".into(),
            token: None,
            device_id: "mac".into(),
            workspace: ".".into(),
            root: None,
            allow: Vec::new(),
            agents: Default::default(),
            state: None,
            version: "1".into(),
        };
        let judge = |error, was| super::judge(&options, error, was, 7);
        let refused = |error: protocol::error::Error, was| judge(client::Error::Gateway(error), was);
        use protocol::error::Error;
        assert!(matches!(refused(Error::setup_required(), false), Err(RunError::SetupMode)));
        assert!(matches!(refused(Error::setup_required(), true), Ok(Report::Refused { code: 425, .. })));
        assert!(matches!(refused(Error::device_taken("x"), true), Err(RunError::DeviceTaken { .. })));
        assert!(matches!(
            refused(Error::authentication_failed(), false),
            Ok(Report::Refused { code: 401, retry_ms: 7, .. })
        ));
        assert!(matches!(judge(client::Error::Closed("x".into()), false), Ok(Report::Lost { .. })));
    }
}
