//! Warm pool: children that are ready, so that a block need not wait for a program to start.
//!
//! A child that never served anybody (*blank*) may be given to anyone. One that has served is that tenant's for the rest
//! of its short life: what a block may have done to it must not reach another user, nor what a person runs after what
//! an agent ran. Nothing is started before the first block, and an idle pool empties itself.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Child;
use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use base::clock::Clock;
use base::limits::guest as limits;
use base::sync::lock;
use bytes::BytesMut;
use protocol::ids::{Pid, Uid};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::frame;
use crate::message::{FromGuest, GuestKind};
use crate::spawner::{Spawned, Spawner};

/// Whom a child serves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tenant {
    /// The user.
    pub uid: Uid,
    /// The process whose blocks they are; none for a person's own.
    pub pid: Option<Pid>,
}

/// Children of one kind. Cheap to clone.
#[derive(Clone)]
pub struct Pool(Arc<Inner>);

struct Inner {
    program: PathBuf,
    kind: &'static str,
    clock: Clock,
    shelf: Mutex<Shelf>,
    room: Arc<Semaphore>,
}

#[derive(Default)]
struct Shelf {
    spawner: Option<Spawner>,
    blank: Vec<Guest>,
    /// How many blank ones are being started.
    starting: usize,
    kept: Vec<(Tenant, Instant, Guest)>,
    /// Room of each user that has a block under way.
    users: HashMap<Uid, Arc<Semaphore>>,
    /// When the newest block began.
    used: Option<Instant>,
    is_swept: bool,
    is_closed: bool,
}

/// A child that waits for a block, or runs one. Dropped, it is ended.
pub(crate) struct Guest {
    child: Option<Child>,
    pub(crate) socket: UnixStream,
    /// What was read of its next frame.
    pub(crate) read: BytesMut,
    blocks: u32,
    spawner: Spawner,
}

/// A child that runs a block, and the room that it takes.
pub(crate) struct Hired {
    pub(crate) guest: Guest,
    since: Instant,
    _room: (OwnedSemaphorePermit, OwnedSemaphorePermit),
}

impl Pool {
    /// Children that are this program, run as a guest of the given kind.
    pub fn new(program: PathBuf, kind: &'static str, clock: Clock) -> Pool {
        let room = Arc::new(Semaphore::new(limits::CHILDREN_MAX));
        Pool(Arc::new(Inner { program, kind, clock, shelf: Mutex::default(), room }))
    }

    /// The time, as the pool sees it.
    pub(crate) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// How many children wait for a block.
    pub fn waiting(&self) -> usize {
        let shelf = lock(&self.0.shelf);
        shelf.blank.len() + shelf.kept.len()
    }

    /// How many run one.
    pub fn busy(&self) -> usize {
        limits::CHILDREN_MAX - self.0.room.available_permits()
    }

    /// Ends the children that wait, and starts none any more.
    pub fn close(&self) {
        let mut shelf = lock(&self.0.shelf);
        *shelf = Shelf { is_closed: true, ..Shelf::default() };
    }

    /// A user is gone: so are the children that served it.
    pub fn forget_user(&self, uid: Uid) {
        lock(&self.0.shelf).kept.retain(|(tenant, ..)| tenant.uid != uid);
    }

    /// A child for a block of that tenant. Waits for room, and for one to start.
    pub(crate) async fn hire(&self, tenant: &Tenant) -> Result<Hired, String> {
        let hired = self.0.clock.timeout(limits::START_WAIT, self.find(tenant)).await;
        hired.unwrap_or_else(|_| Err("no sandbox was free in time: too many blocks run at once".to_string()))
    }

    async fn find(&self, tenant: &Tenant) -> Result<Hired, String> {
        let own = {
            let mut shelf = lock(&self.0.shelf);
            shelf.users.retain(|_, room| Arc::strong_count(room) > 1);
            let new = || Arc::new(Semaphore::new(limits::CHILDREN_PER_USER_MAX));
            shelf.users.entry(tenant.uid).or_insert_with(new).clone()
        };
        let closed = |_| "the gateway is stopping".to_string();
        // A user's own room first: whoever waits for it takes none of what others need.
        let own = own.acquire_owned().await.map_err(closed)?;
        let room = self.0.room.clone().acquire_owned().await.map_err(closed)?;
        let ready = {
            let mut shelf = lock(&self.0.shelf);
            if shelf.is_closed {
                return Err("the gateway is stopping".to_string());
            }
            shelf.used = Some(self.0.clock.instant());
            shelf.take(tenant)
        };
        let guest = match ready {
            Some(guest) => guest,
            None => self.start().await?,
        };
        self.refill();
        Ok(Hired { guest, since: self.0.clock.instant(), _room: (own, room) })
    }

    /// Takes a child back whose block ended as blocks should.
    pub(crate) fn give_back(&self, tenant: &Tenant, hired: Hired) {
        let now = self.0.clock.instant();
        let Hired { mut guest, since, _room } = hired;
        guest.blocks += 1;
        let was_quick = now.saturating_duration_since(since) <= limits::KEPT_AFTER_AT_MOST;
        let mut shelf = lock(&self.0.shelf);
        if was_quick && guest.blocks < limits::BLOCKS_PER_CHILD && guest.read.is_empty() && !shelf.is_closed {
            if shelf.kept.len() >= limits::KEPT_MAX {
                shelf.kept.remove(0);
            }
            shelf.kept.push((tenant.clone(), now, guest));
        }
        drop(shelf);
        self.sweep_later();
    }

    /// Ends a child, and tells how it ended.
    pub(crate) async fn dismiss(&self, hired: Hired) -> Option<std::process::ExitStatus> {
        let mut guest = hired.guest;
        let child = guest.child.take()?;
        guest.spawner.end(child).await.ok()
    }

    async fn start(&self) -> Result<Guest, String> {
        let failed = |error: std::io::Error| format!("the sandbox could not be started: {error}");
        let spawner = self.spawner().map_err(failed)?;
        let Spawned { child, socket } = spawner.spawn().await.map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let socket = UnixStream::from_std(socket).map_err(failed)?;
        let mut guest = Guest { child: Some(child), socket, read: BytesMut::new(), blocks: 0, spawner };
        // Until it says so it has not given up what it must.
        loop {
            match frame::take(&mut guest.read) {
                Ok(Some(frame)) => {
                    let said: Option<FromGuest<'_>> = serde_json::from_slice(&frame).ok();
                    return match said {
                        Some(FromGuest { kind: GuestKind::Ready, .. }) => Ok(guest),
                        _ => Err("the sandbox could not be set up".to_string()),
                    };
                }
                Ok(None) => {}
                Err(_) => return Err("the sandbox could not be set up".to_string()),
            }
            if guest.socket.read_buf(&mut guest.read).await.map_err(failed)? == 0 {
                let status = match guest.child.take() {
                    Some(child) => guest.spawner.end(child).await.ok(),
                    None => None,
                };
                let how = status.map_or_else(String::new, |status| format!(" ({status})"));
                return Err(format!("the sandbox could not be set up on this machine{how}"));
            }
        }
    }

    fn spawner(&self) -> std::io::Result<Spawner> {
        let mut shelf = lock(&self.0.shelf);
        if let Some(spawner) = &shelf.spawner {
            return Ok(spawner.clone());
        }
        let spawner = Spawner::start(self.0.program.clone(), self.0.kind)?;
        shelf.spawner = Some(spawner.clone());
        Ok(spawner)
    }

    /// Starts blank children in the background.
    fn refill(&self) {
        let missing = {
            let mut shelf = lock(&self.0.shelf);
            let there = shelf.blank.len() + shelf.starting;
            let missing = if shelf.is_closed { 0 } else { limits::BLANK.saturating_sub(there) };
            shelf.starting += missing;
            missing
        };
        for _ in 0..missing {
            let pool = self.clone();
            tokio::spawn(async move {
                let started = pool.0.clock.timeout(limits::START_WAIT, pool.start()).await;
                let mut shelf = lock(&pool.0.shelf);
                shelf.starting -= 1;
                match started {
                    Ok(Ok(guest)) if !shelf.is_closed => shelf.blank.push(guest),
                    Ok(Ok(_)) | Err(_) => {}
                    Ok(Err(why)) => tracing::warn!(why, "a guest could not be started"),
                }
                drop(shelf);
                pool.sweep_later();
            });
        }
    }

    /// Ends children that were not needed for a while, until none waits.
    fn sweep_later(&self) {
        {
            let mut shelf = lock(&self.0.shelf);
            if std::mem::replace(&mut shelf.is_swept, true) {
                return;
            }
        }
        let (weak, clock): (Weak<Inner>, Clock) = (Arc::downgrade(&self.0), self.0.clock.clone());
        tokio::spawn(async move {
            loop {
                clock.sleep(limits::IDLE).await;
                let Some(inner) = weak.upgrade() else { return };
                let now = clock.instant();
                let mut shelf = lock(&inner.shelf);
                shelf.kept.retain(|(_, since, _)| now.saturating_duration_since(*since) < limits::IDLE);
                let is_idle =
                    shelf.used.is_none_or(|used| now.saturating_duration_since(used) >= limits::BLANK_IDLE);
                if is_idle {
                    shelf.blank.clear();
                }
                if shelf.kept.is_empty() && shelf.blank.is_empty() && shelf.starting == 0 {
                    // The thread has nothing to wait for either.
                    shelf.spawner = None;
                    shelf.is_swept = false;
                    return;
                }
            }
        });
    }
}

impl Shelf {
    /// A child that waits and lives: the system may have ended some meanwhile.
    fn take(&mut self, tenant: &Tenant) -> Option<Guest> {
        loop {
            let served = self.kept.iter().rposition(|(of, ..)| of == tenant);
            let guest = served.map(|at| self.kept.swap_remove(at).2).or_else(|| self.blank.pop())?;
            if guest.waits() {
                return Some(guest);
            }
        }
    }
}

impl Guest {
    /// Whether it lives and says nothing.
    fn waits(&self) -> bool {
        use rustix::net::{RecvFlags, recv};
        let mut byte = [0_u8; 1];
        let read = recv(&self.socket, &mut byte[..], RecvFlags::PEEK | RecvFlags::DONTWAIT);
        matches!(read, Err(rustix::io::Errno::AGAIN))
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            self.spawner.discard(child);
        }
    }
}
