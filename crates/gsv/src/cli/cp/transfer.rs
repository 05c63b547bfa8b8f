//! Resumable file transfer: pulled, pushed, or both by way of this machine; tried again from where it broke
//! off while that is promising.

use std::path::Path;

use base::limits;
use client::{Link, Session};
use protocol::fs::{Pull, PullOpened, Push, PushOpened};
use protocol::transfer::FailReason;
use terminal::failure::{Failure, Result};
use tokio::time::sleep;

use super::local::{FoundPart, PartFile, Source};
use super::location::{Location, Remote};
use super::progress;
use super::unfinished::Unfinished;
use crate::context::Context;

/// Copies files over one connection and counts.
pub struct Copier<'a> {
    context: &'a Context,
    /// The connection.
    pub session: Session,
    /// Whether the gateway or a device stayed away for too long: further files would fare no better.
    pub gave_up: bool,
    /// Whether an earlier attempt left files that need not travel again.
    goes_on: bool,
    done: CopySummary,
}

/// What was done.
#[derive(Default)]
pub struct CopySummary {
    /// Files copied.
    pub files: u64,
    pub bytes: u64,
    /// Files that were there already from an earlier attempt.
    pub unchanged: u64,
    /// Files and directories that could not be copied; each was told on stderr.
    pub failed: u64,
}

/// Why an attempt failed, and whether another one may do better.
enum AttemptError {
    Lost(Failure),
    Final(Failure),
    /// What was there from an earlier attempt belongs to another file.
    Stale,
}

impl From<Failure> for AttemptError {
    fn from(failure: Failure) -> AttemptError {
        AttemptError::Final(failure)
    }
}

impl From<client::Error> for AttemptError {
    fn from(error: client::Error) -> AttemptError {
        match &error {
            client::Error::Gateway(answer) if !matches!(answer.code, 429 | 503 | 504) => {
                AttemptError::Final(error.into())
            }
            client::Error::Decode { .. } => AttemptError::Final(error.into()),
            _ => AttemptError::Lost(error.into()),
        }
    }
}

impl From<transfer::Error> for AttemptError {
    fn from(error: transfer::Error) -> AttemptError {
        let failure = Failure::new(error.to_string());
        match error {
            transfer::Error::Closed | transfer::Error::Idle(_) => AttemptError::Lost(failure),
            transfer::Error::Corrupt { .. } => AttemptError::Stale,
            transfer::Error::Peer(why) => match why.reason() {
                Some(FailReason::Disconnected) => AttemptError::Lost(failure),
                Some(FailReason::DigestMismatch) => AttemptError::Stale,
                Some(FailReason::Other) | None => AttemptError::Final(failure),
            },
            _ => AttemptError::Final(failure),
        }
    }
}

/// Whether a failure means that the gateway or the device is away, and not that it has no time for one file.
fn is_absence(failure: &Failure) -> bool {
    matches!(failure.code, None | Some(503))
}

impl<'a> Copier<'a> {
    /// Nothing is copied yet.
    pub fn new(context: &'a Context, session: Session) -> Copier<'a> {
        Copier { context, session, gave_up: false, goes_on: false, done: CopySummary::default() }
    }

    /// Closes the connection and tells what was done.
    pub async fn finish(self) -> CopySummary {
        self.session.connection.close().await;
        self.done
    }

    /// Tells about something that could not be copied, and goes on.
    pub fn skip(&mut self, failure: &Failure) {
        self.done.failed += 1;
        self.context.output.failure(failure);
    }

    /// Whether something could not be copied.
    pub fn has_failed(&self) -> bool {
        self.done.failed > 0
    }

    /// What is known of an earlier attempt at this copy.
    pub async fn unfinished(&self, source: &Location, destination: &Location) -> Unfinished {
        let whose = format!("{}\0{}", self.session.url, self.session.username());
        Unfinished::find(&whose, source, destination, &self.context.clock).await
    }

    /// An earlier attempt is gone on with: what it has copied is compared, not sent again.
    pub fn go_on(&mut self) {
        self.goes_on = true;
        self.context.output.note("going on with an earlier copy; what is there already is only compared");
    }

    /// A file from a target to this machine.
    pub async fn pull(&mut self, from: &Remote, to: &Path) -> Result<()> {
        if self.goes_on && self.is_same(to, from).await {
            self.done.unchanged += 1;
            return FoundPart::find(to, from).await?.discard();
        }
        self.retry(from, async |copier| copier.pull_once(from, to).await).await
    }

    /// A file from this machine to a target.
    pub async fn push(&mut self, from: &Path, to: &Remote) -> Result<()> {
        if self.goes_on && self.is_same(from, to).await {
            self.done.unchanged += 1;
            return Ok(());
        }
        self.retry(to, async |copier| copier.push_once(from, to).await).await
    }

    /// A file from one target to another: by way of a file here that goes again.
    pub async fn relay(&mut self, from: &Remote, to: &Remote) -> Result<()> {
        let directory = tempfile::tempdir()?;
        let file = directory.path().join("file");
        self.pull(from, &file).await?;
        // Only the second half counts.
        self.done.files -= 1;
        self.done.bytes -= tokio::fs::metadata(&file).await?.len();
        self.push(&file, to).await
    }

    /// Whether a file here and one on a target are the same. The target is asked for what comes after the end of the one
    /// here: no bytes travel, only the digest of the whole. What cannot be compared is not the same.
    async fn is_same(&self, here: &Path, there: &Remote) -> bool {
        let Ok(mut source) = Source::open(here).await else { return false };
        let Ok(hash) = transfer::hash(&mut source.file, source.size).await else { return false };
        let Ok(Ok(opened)) = self.open_pull(there, source.size).await else { return false };
        let mut link = self.session.connection.link(opened.transfer_id);
        if opened.size != source.size {
            link.fail("the files have different sizes").await;
            return false;
        }
        let received =
            transfer::receive(&mut link, &mut tokio::io::sink(), source.size, opened.size, hash, |_| {})
                .await;
        match received {
            Ok(sha256) => link.stored(&sha256).await.is_ok(),
            Err(_) => false,
        }
    }

    /// Connects again where that is needed, for a call that is not tried again by itself.
    pub async fn ensure_connected(&mut self) -> Result<()> {
        if self.session.connection.is_closed()
            && let Err(error) = self.session.reconnect().await
        {
            self.gave_up = true;
            return Err(error.into());
        }
        Ok(())
    }

    async fn retry(
        &mut self,
        what: &Remote,
        mut attempt: impl AsyncFnMut(&mut Self) -> std::result::Result<u64, AttemptError>,
    ) -> Result<()> {
        let mut pause = limits::cli::COPY_PAUSE_FIRST;
        let mut was_stale = false;
        for tried in 1.. {
            let failure = match attempt(self).await {
                Ok(bytes) => {
                    self.done.files += 1;
                    self.done.bytes += bytes;
                    return Ok(());
                }
                Err(AttemptError::Final(failure)) => return Err(failure.while_doing(what)),
                Err(AttemptError::Stale) => {
                    let failure = Failure::new("the copy does not match the source: its digest differs");
                    if std::mem::replace(&mut was_stale, true) {
                        return Err(failure.while_doing(what).with_hint("does the file change?"));
                    }
                    failure
                }
                Err(AttemptError::Lost(failure)) if tried >= limits::cli::COPY_ATTEMPTS_MAX => {
                    self.gave_up = is_absence(&failure);
                    return Err(failure.while_doing(what));
                }
                Err(AttemptError::Lost(failure)) => failure,
            };
            self.context.output.note(&format!("{what}: {}; trying again …", failure.message));
            sleep(pause).await;
            pause *= 2;
            if self.session.connection.is_closed()
                && let Err(error) = self.session.reconnect().await
                && let AttemptError::Final(failure) = AttemptError::from(error)
            {
                return Err(failure);
            }
        }
        Err(Failure::new("the file was not copied"))
    }

    async fn pull_once(&mut self, from: &Remote, to: &Path) -> std::result::Result<u64, AttemptError> {
        let earlier = FoundPart::find(to, from).await?;
        let mut opened = self.open_pull(from, earlier.offset).await?;
        let goes_on = opened.as_ref().is_ok_and(|opened| opened.size >= earlier.offset);
        let anew = earlier.offset > 0 && !goes_on;
        if anew {
            if let Ok(opened) = &opened {
                let link = self.session.connection.link(opened.transfer_id);
                link.fail("more than this is there already").await;
            }
            opened = self.open_pull(from, 0).await?;
        }
        // Only now that the other end has answered is anything created or thrown away.
        let opened = opened.map_err(Failure::new)?;
        let mut link = self.session.connection.link(opened.transfer_id);
        let partial = match earlier.open(anew).await {
            Ok(partial) => partial,
            Err(failure) => {
                link.fail(failure.message.as_str()).await;
                return Err(failure.into());
            }
        };
        self.receive(&mut link, partial, from, &opened).await?;
        Ok(opened.size)
    }

    async fn receive(
        &self,
        link: &mut Link,
        mut partial: PartFile,
        from: &Remote,
        opened: &PullOpened,
    ) -> std::result::Result<(), AttemptError> {
        let bar = progress::bar(&from.to_string(), opened.size, !self.context.output.json);
        let (offset, hash) = (partial.offset, partial.hash.clone());
        let progress = |position| bar.set_position(position);
        let received = transfer::receive(link, &mut partial.file, offset, opened.size, hash, progress).await;
        bar.finish_and_clear();
        let sha256 = match received {
            Ok(sha256) => sha256,
            Err(error) => {
                if let transfer::Error::Corrupt { .. } = &error {
                    partial.restart().await?;
                }
                partial.leave().await;
                return Err(error.into());
            }
        };
        partial.finish(opened.mode).await?;
        link.stored(&sha256).await?;
        Ok(())
    }

    /// The transfer, or the target's words why there is none.
    async fn open_pull(
        &self,
        from: &Remote,
        offset: u64,
    ) -> std::result::Result<std::result::Result<PullOpened, String>, AttemptError> {
        let call =
            Pull { path: from.path.clone(), offset: (offset > 0).then_some(offset), transfer_id: None };
        let opened =
            self.session.connection.call_on(Some(&from.target), &call, limits::client::CALL_TIMEOUT).await?;
        Ok(opened.into_result())
    }

    async fn push_once(&mut self, from: &Path, to: &Remote) -> std::result::Result<u64, AttemptError> {
        let mut source = Source::open(from).await?;
        let sha256 = source.digest().await?;
        let call =
            Push { path: to.path.clone(), size: source.size, sha256, mode: source.mode, transfer_id: None };
        let opened =
            self.session.connection.call_on(Some(&to.target), &call, limits::client::CALL_TIMEOUT).await?;
        let opened: PushOpened = opened.into_result().map_err(Failure::new)?;
        let mut link = self.session.connection.link(opened.transfer_id);
        let hash = match transfer::hash(&mut source.file, opened.offset).await {
            Ok(hash) => hash,
            Err(error) => {
                link.fail_sending(&error).await;
                return Err(error.into());
            }
        };
        let bar = progress::bar(&to.to_string(), source.size, !self.context.output.json);
        let progress = |position| bar.set_position(position);
        let sent =
            transfer::send(&mut link, &mut source.file, opened.offset, source.size, hash, progress).await;
        bar.finish_and_clear();
        sent?;
        Ok(source.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_upload_is_begun_anew() {
        let peer = |words: &str| AttemptError::from(transfer::Error::Peer(words.into()));
        let words = "the digest does not match: aa was meant, bb arrived";
        assert!(matches!(peer(words), AttemptError::Stale));
        assert!(matches!(peer("Device disconnected: desk"), AttemptError::Lost(_)));
        assert!(matches!(peer("Failed to write 'x'"), AttemptError::Final(_)));
    }

    #[test]
    fn absence_is_told_from_a_failure_of_one_file() {
        use protocol::error::Error;
        assert!(is_absence(&Failure::from(Error::device_offline("desk"))));
        assert!(is_absence(&Failure::new("the connection was lost")));
        assert!(!is_absence(&Failure::from(Error::route_timeout("fs.pull", "desk"))));
    }
}
