//! What a conversation knows of files: those it has read or written, and those that its targets say are not there.

use std::path::Path;

use base::limits;
use gateway::Permit;
use model::ToolCall;
use policy::Known;
use protocol::confine::Way;
use protocol::fs::{Listing, Read, ReadResult};
use protocol::outcome::Outcome;

use super::Actor;
use super::draft::Draft;
use crate::known_files::KnownFiles;
use crate::setup::Setup;
use crate::tools;

/// How many directories upwards it is looked whether a file can be there.
const LEVELS_MAX: usize = 8;

impl Actor {
    /// A call about a file came to its end: the conversation has seen that file.
    pub(super) fn saw_file(&mut self, draft: &Draft, place: usize) {
        let Some((target, path)) = self.volatile.touched.remove(&place) else { return };
        if let Some(run) = &draft.durable.run {
            self.known.of_mut(&run.conversation_id).saw(&target, &path);
        }
    }

    /// What the conversation knows, with the files that are about to be written and are not there.
    pub(super) async fn look_for_files(&mut self, draft: &Draft, setup: &Setup) -> KnownFiles {
        let Some(run) = &draft.durable.run else { return KnownFiles::default() };
        let id = run.conversation_id.clone();
        let calls: Vec<ToolCall> =
            self.volatile.calls.iter().filter(|call| is_writing(call)).cloned().collect();
        for call in calls {
            let Some((target, path)) = self.place_of(setup, &call) else { continue };
            if self.known.of(&id).of(&target, &path) == Known::Unknown && self.is_absent(&target, &path).await
            {
                self.known.of_mut(&id).missed(&target, &path);
            }
        }
        self.known.of(&id)
    }

    /// The target and the resolved path of a call, where the target is a device.
    fn place_of(&self, setup: &Setup, call: &ToolCall) -> Option<(String, String)> {
        tools::place_of(setup, &self.process, call, &self.host.world.gateway)
    }

    /// Whether a device says that there is no such file: by the listing of the nearest directory above it that there is.
    /// Whatever else it says, and when it says nothing in time, nothing is known.
    async fn is_absent(&self, target: &str, path: &str) -> bool {
        let looking = async {
            let mut below = Path::new(path);
            for _ in 0..LEVELS_MAX {
                let (Some(above), Some(name)) = (below.parent(), below.file_name()) else { return false };
                match self.list(target, above).await {
                    Some(Ok(found)) => {
                        let name = name.to_string_lossy();
                        return !found.files.iter().chain(&found.directories).any(|known| *known == name);
                    }
                    Some(Err(())) => below = above,
                    None => return false,
                }
            }
            false
        };
        let clock = &self.host.world.clock;
        clock.timeout(limits::process::LOOK_WAIT, looking).await.unwrap_or(false)
    }

    /// What a directory holds; `Some(Err)` when it can not be read, `None` when it is none or the device did not answer.
    async fn list(&self, target: &str, directory: &Path) -> Option<Result<Listing, ()>> {
        let world = &self.host.world;
        let read = Read { path: directory.to_str()?.to_string(), offset: None, limit: None };
        let mut args = serde_json::to_value(&read).ok()?;
        args["target"] = target.into();
        let permit = Permit { way: Way::Proved, ..Permit::default() };
        let id = world.random.uuid();
        let args = args.to_string();
        let answer = world.gateway.call_permitted(&self.process, permit, &id, "fs.read", &args).await.ok()?;
        match serde_json::from_str::<Outcome<ReadResult>>(&answer).ok()? {
            Outcome::Done(ReadResult::Directory(found)) => Some(Ok(found)),
            Outcome::Done(_) => None,
            Outcome::Failed(_) => Some(Err(())),
        }
    }
}

/// Whether a call replaces a whole file.
fn is_writing(call: &ToolCall) -> bool {
    tools::syscall(&call.name).is_some_and(|spec| matches!(spec.name, "fs.write" | "fs.push"))
}
