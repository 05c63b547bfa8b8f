//! Service of `proc.media.read`.

use protocol::error::Error;
use protocol::ids::Pid;
use protocol::outcome::Outcome;
use protocol::proc::history::{Media, MediaRead};

use crate::host::Host;
use crate::media;

impl Host {
    /// Reads the bytes of a medium.
    pub async fn media_read(&self, pid: &Pid, args: &MediaRead) -> Result<Outcome<Media>, Error> {
        let process = self.known(pid).await?;
        Ok(media::read(&self.world, &process, args).await.into())
    }
}
