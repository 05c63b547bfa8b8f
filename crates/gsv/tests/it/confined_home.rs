//! Test fixture: a home with a workspace in it, and a driver's machine that confines what agents run there.

use std::path::PathBuf;
use std::sync::Arc;

use base::clock::Clock;
use device::files::Files;
use device::machine::{Cx, Machine, answer, router};
use device::{Agents, Enforced};
use sandbox::Sandbox;
use serde_json::Value;
use tempfile::TempDir;

/// What a driver announces where its sandbox does everything.
pub const ALL_WORDS: &[&str] = &["fs", "secrets", "network", "processes", "limits", "rehearse"];

/// Says where the program is to whom its own directory is closed.
pub const HELPER_VARIABLE: &str = "GSV_TEST_HELPER";

fn helper() -> PathBuf {
    std::env::var_os(HELPER_VARIABLE).map_or_else(|| env!("CARGO_BIN_EXE_gsv").into(), PathBuf::from)
}

/// A home, its workspace `work`, and the machine of a driver that was started there.
pub struct ConfinedHome {
    pub path: PathBuf,
    machine: Arc<Machine>,
    pub temp: TempDir,
}

impl ConfinedHome {
    /// Makes `home` in that directory, with these files in it. The driver keeps its state at `state`, also in that
    /// directory, announces `words`, and runs commands with that shell.
    pub fn new(
        temp: TempDir,
        files: &[(&str, &str)],
        state: &str,
        words: &[&str],
        shell: &str,
    ) -> ConfinedHome {
        let top = temp.path().canonicalize().unwrap();
        let home = top.join("home");
        for (path, text) in files {
            let path = home.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let files = Files::whole(&home.join("work")).unwrap().at_home(home.clone());
        let enforced = Enforced {
            sandbox: Sandbox::with_helper(helper()),
            words: words.iter().map(|word| word.to_string()).collect(),
            state: top.join(state),
            clock: Clock::system(),
        };
        let agents = Agents::new(Default::default(), &files, shell.into(), Some(enforced));
        let machine = Machine::new(files, agents, Clock::system(), |_| {});
        ConfinedHome { path: home, machine, temp }
    }

    /// Makes a call to the machine, as the gateway would; the text of the frame that answers it.
    pub async fn call(&self, name: &str, args: &Value) -> String {
        let cx = Cx::new(self.machine.clone(), "1", None);
        answer(&router(), cx, name, &args.to_string()).await.text
    }
}
