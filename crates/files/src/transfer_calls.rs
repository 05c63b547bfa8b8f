//! Handlers of `fs.pull` and `fs.push` on the native target: the gateway itself is one end of the transfer.

use std::fs::File;
use std::io::Cursor;
use std::sync::Arc;

use gateway::{Gateway, Origin, Peer};
use protocol::error::Error;
use protocol::fs::{Pull, PullOpened, Push, PushOpened};
use protocol::outcome::Outcome;
use protocol::router::Then;
use protocol::spec::Syscall;
use transfer::{Intake, Running};
use vfs::upload::{Upload, Wanted};
use vfs::view::Opened;
use vfs::{Code, Fault, Stat};

use crate::area::Files;
use crate::calls::{outcome, place};
use crate::transfers::native::{self, begin};

type Cx = gateway::Cx<Files>;

/// `fs.pull`; its first bytes must not overtake the answer that names the transfer.
pub(crate) async fn pull(cx: Cx, args: Pull) -> Result<(Outcome<PullOpened>, Then), Error> {
    let carrier = carrier::<Pull>(&cx)?;
    let view = cx.area.gateway.view(&cx.caller);
    let path = place::<Pull>(&view, &args.path)?;
    let offset = args.offset.unwrap_or(0);
    let (opened, stat) = match view.open(&path).await {
        Ok(Opened::File(file, stat)) => (Source::File(file), stat),
        Ok(Opened::Bytes(bytes, stat)) => {
            let size = bytes.len() as u64;
            (Source::Bytes(bytes), Stat { size, ..stat })
        }
        Ok(Opened::Directory(_)) => {
            return refused(outcome(Fault::new(Code::IsDirectory, "read", path.as_str())));
        }
        Err(fault) => return refused(outcome(fault)),
    };
    let size = stat.size;
    if offset > size {
        let why = format!("Failed to read '{path}': offset {offset} is beyond its {size} bytes");
        return refused(Ok(Outcome::Failed(why)));
    }
    let (id, link) = native::open(&cx.area.transfers, carrier, true)?;
    let work = async move {
        match opened {
            Source::File(file) => transfer::give(link, tokio::fs::File::from_std(file), offset, size).await,
            Source::Bytes(bytes) => transfer::give(link, Cursor::new(bytes), offset, size).await,
        }
    };
    let mode = Some(stat.mode & 0o7777);
    let opened = PullOpened { path: path.to_string(), size, mode, transfer_id: id };
    Ok((Outcome::Done(opened), begin(work)))
}

/// Nothing follows what was refused.
fn refused<T>(outcome: Result<Outcome<T>, Error>) -> Result<(Outcome<T>, Then), Error> {
    outcome.map(|outcome| (outcome, Box::new(|| {}) as Then))
}

enum Source {
    File(File),
    Bytes(Vec<u8>),
}

/// `fs.push`
pub(crate) async fn push(cx: Cx, args: Push) -> Result<(Outcome<PushOpened>, Then), Error> {
    let carrier = carrier::<Push>(&cx)?;
    if !transfer::is_sha256(&args.sha256) {
        return Err(Error::bad_argument("fs.push", "sha256", "must be 64 hex digits"));
    }
    let view = cx.area.gateway.view(&cx.caller);
    let path = place::<Push>(&view, &args.path)?;
    let wanted = Wanted { size: args.size, tag: transfer::partial_tag(&args.sha256), mode: args.mode };
    let transfers = &cx.area.transfers;
    let (uploads, sweeper) = (transfers.uploads.clone(), transfers.sweeper.clone());
    let enter = move |partial| Running::enter(&uploads, partial);
    let (upload, file, running) = match view.upload(&path, wanted, sweeper, enter).await {
        Ok(opened) => opened,
        Err(fault) => return refused(outcome(fault)),
    };
    let offset = upload.offset;
    let (id, link) = native::open(transfers, carrier, false)?;
    let target = Target { upload, gateway: cx.area.gateway.clone(), sender: cx.caller.origin.clone() };
    let intake = Intake { file, offset, size: args.size, sha256: args.sha256 };
    let work = async move {
        transfer::take_in(link, intake, target, running.ended()).await;
    };
    let opened = PushOpened { path: path.to_string(), offset, transfer_id: id };
    Ok((Outcome::Done(opened), begin(work)))
}

/// The socket that carries the bytes. A call from within the gateway has none.
fn carrier<S: Syscall>(cx: &Cx) -> Result<&Arc<dyn Peer>, Error> {
    let missing = || Error::missing_argument(S::SPEC.name, "transferId");
    let carrier = cx.caller.origin.carrier().ok_or_else(missing)?;
    cx.area.transfers.check_room(carrier)?;
    Ok(carrier)
}

/// Where an upload to the native tree goes, and who sends it.
struct Target {
    upload: Upload,
    gateway: Gateway,
    sender: Origin,
}

impl transfer::Destination for Target {
    /// An upload may take hours: what the sender may do is asked anew.
    fn store(self, file: File) -> Result<(), String> {
        let now = self.gateway.recheck(&self.sender, Push::SPEC.name).map_err(|error| error.message)?;
        self.upload.store(&now.identity, file).map_err(|fault| fault.to_string())
    }

    fn discard(self) {
        self.upload.discard();
    }
}
