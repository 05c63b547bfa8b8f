//! `fs.pull` and `fs.push` on the native target: the gateway is itself one end of the transfer.

use std::fs::File;
use std::io::Cursor;
use std::sync::Arc;

use protocol::error::Error;
use protocol::fs::{Pull, PullOpened, Push, PushOpened};
use protocol::outcome::Outcome;
use protocol::spec::Syscall;
use transfer::{Intake, Running};
use vfs::upload::{Upload, Wanted};
use vfs::view::Opened;
use vfs::{Code, Fault, Stat};

use super::Cx;
use super::fs::{outcome, place};
use crate::caller::Origin;
use crate::connections::Connection;
use crate::native;
use crate::transfers::native::leave;
use crate::{Kernel, access};

/// `fs.pull`
pub(crate) async fn pull(cx: Cx, args: Pull) -> Result<Outcome<PullOpened>, Error> {
    let (carrier, id) = carrier::<Pull>(&cx, args.transfer_id)?;
    let view = native::view(&cx.kernel, &cx.caller);
    let path = place::<Pull>(&view, &args.path)?;
    let offset = args.offset.unwrap_or(0);
    let failed = |why: String| Ok(Outcome::Failed(format!("Failed to read '{path}': {why}")));
    let (opened, stat) = match view.open(&path).await {
        Ok(Opened::File(file, stat)) => (Source::File(file), stat),
        Ok(Opened::Bytes(bytes, stat)) => {
            let size = bytes.len() as u64;
            (Source::Bytes(bytes), Stat { size, ..stat })
        }
        Ok(Opened::Directory(_)) => return outcome(Fault::new(Code::IsDirectory, "read", path.as_str())),
        Err(fault) => return outcome(fault),
    };
    let size = stat.size;
    if offset > size {
        return failed(format!("offset {offset} is beyond its {size} bytes"));
    }
    leave(&cx.kernel, carrier, id, async move |link| match opened {
        Source::File(file) => transfer::give(link, tokio::fs::File::from_std(file), offset, size).await,
        Source::Bytes(bytes) => transfer::give(link, Cursor::new(bytes), offset, size).await,
    });
    let mode = Some(stat.mode & 0o7777);
    Ok(Outcome::Done(PullOpened { path: path.to_string(), size, mode, transfer_id: id }))
}

enum Source {
    File(File),
    Bytes(Vec<u8>),
}

/// `fs.push`
pub(crate) async fn push(cx: Cx, args: Push) -> Result<Outcome<PushOpened>, Error> {
    let (carrier, id) = carrier::<Push>(&cx, args.transfer_id)?;
    if !transfer::is_sha256(&args.sha256) {
        return Err(Error::bad_argument("fs.push", "sha256", "must be 64 hex digits"));
    }
    let view = native::view(&cx.kernel, &cx.caller);
    let path = place::<Push>(&view, &args.path)?;
    let wanted = Wanted { size: args.size, tag: transfer::partial_tag(&args.sha256), mode: args.mode };
    let (uploads, sweeper) = (cx.kernel.transfers.uploads.clone(), cx.kernel.transfers.sweeper.clone());
    let enter = move |partial| Running::enter(&uploads, partial);
    let (upload, file, running) = match view.upload(&path, wanted, sweeper, enter).await {
        Ok(opened) => opened,
        Err(fault) => return outcome(fault),
    };
    let offset = upload.offset;
    let target = Target { upload, kernel: cx.kernel.clone(), sender: carrier.clone() };
    let intake = Intake { file, offset, size: args.size, sha256: args.sha256 };
    leave(&cx.kernel, carrier, id, async move |link| {
        transfer::take_in(link, intake, target, running.ended()).await;
    });
    Ok(Outcome::Done(PushOpened { path: path.to_string(), offset, transfer_id: id }))
}

/// The socket that carries the bytes, and their id. A call from within the gateway has none.
fn carrier<S: Syscall>(cx: &Cx, id: Option<u32>) -> Result<(&Arc<Connection>, u32), Error> {
    match (&cx.caller.origin, id) {
        (Origin::Connection(connection), Some(id)) => Ok((connection, id)),
        _ => Err(Error::missing_argument(S::SPEC.name, "transferId")),
    }
}

/// Where an upload to the native tree goes, and who sends it.
struct Target {
    upload: Upload,
    kernel: Arc<Kernel>,
    sender: Arc<Connection>,
}

impl transfer::Place for Target {
    /// An upload may take hours: what the sender may do is asked anew.
    fn store(self, file: File) -> Result<(), String> {
        let login = self.sender.login().ok_or("the sender has logged out")?;
        let now = access::caller(&self.kernel, &self.sender, login);
        access::check(&now, Push::SPEC.name, Some(&Push::SPEC)).map_err(|error| error.message)?;
        self.upload.store(&now.identity, file).map_err(|fault| fault.to_string())
    }

    fn discard(self) {
        self.upload.discard();
    }
}
