//! Request to the helper, handed over in a sealed memory file: arguments would be seen by everybody on the machine, and
//! a pipe could fill up before the helper reads.

use std::borrow::Cow;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{OwnedFd, RawFd};

use base::limits::sandbox::SPEC_MAX_BYTES;
use rustix::fs::{MemfdFlags, SealFlags};
use serde::{Deserialize, Serialize};

use crate::spec::Spec;

/// The word that makes the program the helper; the number of the request's descriptor follows it.
pub(crate) const HELPER_WORD: &str = "__sandbox";

/// A request, with the numbers of the descriptors that are inherited for it.
#[derive(Serialize, Deserialize)]
pub(crate) enum Request<'a> {
    /// Make a network namespace and send its descriptors over this socket.
    Network { socket: RawFd },
    /// Run a command.
    Run(Box<Run<'a>>),
}

/// A command to run.
#[derive(Serialize, Deserialize)]
pub(crate) struct Run<'a> {
    /// Who started the helper; when it is somebody else, the driver is gone.
    pub(crate) parent: u32,
    /// Where to tell how the set-up went.
    pub(crate) report: RawFd,
    /// User and network namespace of the run; none in Landlock mode.
    pub(crate) namespaces: Option<(RawFd, RawFd)>,
    pub(crate) spec: Cow<'a, Spec>,
}

impl Request<'_> {
    /// The request as a file that can be read and no longer changed.
    pub(crate) fn to_file(&self) -> io::Result<OwnedFd> {
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

    pub(crate) fn read(file: OwnedFd) -> io::Result<Request<'static>> {
        let mut text = Vec::new();
        std::fs::File::from(file).take(SPEC_MAX_BYTES as u64).read_to_end(&mut text)?;
        Ok(serde_json::from_slice(&text)?)
    }
}
