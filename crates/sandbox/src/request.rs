//! Request to the helper, handed over in a sealed memory file: arguments would be seen by everybody on the machine, and
//! a socket could fill up before the helper reads.

use std::borrow::Cow;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use base::limits::sandbox::SPEC_MAX_BYTES;
use rustix::fs::{MemfdFlags, SealFlags};
use serde::{Deserialize, Serialize};

use crate::descriptors;
use crate::spec::Spec;

/// The word that makes the program the helper; the number of the descriptor of its socket follows it.
pub(crate) const HELPER_WORD: &str = "__sandbox";

/// Byte that comes with a request's file.
const REQUEST: u8 = b'?';

/// What a helper is to do.
#[derive(Serialize, Deserialize)]
pub(crate) enum Request<'a> {
    /// Make a network namespace and send its descriptors over the socket.
    Network,
    /// Run a command. In full mode the user and the network namespace of the run come with it.
    Run(Box<Run<'a>>),
}

/// A command to run.
#[derive(Serialize, Deserialize)]
pub(crate) struct Run<'a> {
    /// Who started the helper; when it is somebody else, the driver is gone.
    pub(crate) parent: u32,
    pub(crate) spec: Cow<'a, Spec>,
}

impl Request<'_> {
    /// Sends the request, with the descriptors that belong to it.
    pub(crate) fn send(&self, socket: BorrowedFd<'_>, more: &[BorrowedFd<'_>]) -> io::Result<()> {
        let file = self.to_file()?;
        descriptors::send(socket, REQUEST, &[&[file.as_fd()], more].concat())
    }

    /// Waits for a request and its descriptors; none comes when whoever would send it has gone.
    pub(crate) fn receive(socket: BorrowedFd<'_>) -> io::Result<Option<(Request<'static>, Vec<OwnedFd>)>> {
        let (byte, mut list) = descriptors::receive(socket)?;
        if byte.is_none() {
            return Ok(None);
        }
        if byte != Some(REQUEST) || list.is_empty() {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        let file = list.remove(0);
        Ok(Some((Request::read(file)?, list)))
    }

    /// The request as a file that can be read and no longer changed.
    fn to_file(&self) -> io::Result<OwnedFd> {
        let text = serde_json::to_vec(self)?;
        if text.len() > SPEC_MAX_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "the command and its surroundings take {} bytes; {SPEC_MAX_BYTES} are allowed",
                    text.len()
                ),
            ));
        }
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let mut file = std::fs::File::from(rustix::fs::memfd_create(c"gsv-sandbox", flags)?);
        file.write_all(&text)?;
        file.rewind()?;
        rustix::fs::fcntl_add_seals(
            &file,
            SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL,
        )?;
        Ok(file.into())
    }

    fn read(file: OwnedFd) -> io::Result<Request<'static>> {
        let mut text = Vec::new();
        std::fs::File::from(file).take(SPEC_MAX_BYTES as u64).read_to_end(&mut text)?;
        Ok(serde_json::from_slice(&text)?)
    }
}
