//! Settings file of the command line: `<config dir>/gsv/config.toml`, readable by its owner only, replaced in one step
//! under a lock.

use std::fs::TryLockError;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use base::clock::Clock;
use base::limits;
use terminal::failure::{Failure, Result};
use toml_edit::{DocumentMut, Item, Table, Value};

use crate::credentials::{DEFAULT_URL, is_same_gateway};

mod sessions;

pub use sessions::StoredSession;

/// Every key there is, with what it is for.
pub const KEYS: &[(&str, &str)] = &[
    ("gateway.url", "the gateway that commands talk to"),
    ("gateway.username", "who you are there"),
    ("gateway.token", "a token to log in with"),
    ("gateway.token_url", "the gateway that token belongs to; gateway.url when absent"),
    ("gateway.token_username", "whose that token is; gateway.username when absent"),
    ("node.id", "this machine's device id"),
    ("node.token", "the token of this machine as a device"),
    ("node.username", "whose device this machine is; gateway.username when absent"),
    ("node.url", "the gateway this machine is a device of; gateway.url when absent"),
    ("node.workspace", "where relative paths start on this device"),
    ("node.root", "the directory that fs calls may not leave on this device"),
    ("node.allow", "what this device offers, separated by commas; everything when absent"),
    ("node.agents", "what agents may do unasked on this device: proved, confined, ask or off"),
];

/// The settings as they were read.
#[derive(Debug)]
pub struct ConfigFile {
    path: PathBuf,
    document: DocumentMut,
    /// False when others than the owner can read the file.
    pub private: bool,
}

/// Where the file is.
pub fn path() -> Result<PathBuf> {
    let directory = dirs::config_dir()
        .ok_or_else(|| Failure::new("there is no directory for configuration: set HOME"))?;
    Ok(directory.join("gsv").join("config.toml"))
}

impl ConfigFile {
    /// Reads the file from its usual place; a missing file is an empty one.
    pub fn load() -> Result<ConfigFile> {
        ConfigFile::load_from(&path()?)
    }

    /// Reads a file; a missing one is empty.
    pub fn load_from(path: &Path) -> Result<ConfigFile> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Failure::new(format!("cannot read {}: {error}", path.display()))),
        };
        let document = text.parse::<DocumentMut>().map_err(|error| {
            let line = error.to_string();
            Failure::new(format!("{} is not valid TOML: {}", path.display(), line.trim()))
        })?;
        Ok(ConfigFile { path: path.to_path_buf(), document, private: is_private(path) })
    }

    /// The value of a key, as text.
    pub fn get(&self, key: &str) -> Option<String> {
        let (section, name) = key.split_once('.')?;
        match self.document.get(section)?.get(name)?.as_value()? {
            Value::String(text) => Some(text.value().clone()),
            other => Some(other.to_string().trim().to_string()),
        }
        .filter(|text| !text.is_empty())
    }

    /// Sets a known key; comments around it stay.
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        let (section, name) = known(key)?;
        match key {
            "gateway.url" => self.pin_tokens(value)?,
            "gateway.username" => self.pin_user(value)?,
            _ => {}
        }
        let table = self.document.entry(section).or_insert_with(|| Item::Table(Table::new()));
        let table = table
            .as_table_like_mut()
            .ok_or_else(|| Failure::new(format!("{}: `{section}` is not a section", self.path.display())))?;
        let mut value = Value::from(value);
        if let Some(old) = table.get(name).and_then(Item::as_value) {
            *value.decor_mut() = old.decor().clone();
        }
        table.insert(name, Item::Value(value));
        Ok(())
    }

    /// Removes a key, if it is there.
    pub fn remove(&mut self, key: &str) {
        if let Some((section, name)) = key.split_once('.')
            && let Some(table) = self.document.get_mut(section).and_then(Item::as_table_like_mut)
        {
            table.remove(name);
        }
    }

    /// Keeps the device what it is when the login is about to change: it goes on as the same user's device of
    /// the same gateway.
    pub fn pin_device(&mut self) -> Result<()> {
        if self.get("node.token").is_none() {
            return Ok(());
        }
        for (own, shared) in [("node.username", "gateway.username"), ("node.url", "gateway.url")] {
            if let (None, Some(value)) = (self.get(own), self.get(shared)) {
                self.set(own, &value)?;
            }
        }
        Ok(())
    }

    /// Leaves stored tokens with the gateway they are for when commands are about to talk to another.
    fn pin_tokens(&mut self, next: &str) -> Result<()> {
        let now = self.get("gateway.url").unwrap_or_else(|| DEFAULT_URL.to_string());
        if is_same_gateway(&now, next) {
            return Ok(());
        }
        self.rewrite_old_session()?;
        for (token, own) in [("gateway.token", "gateway.token_url"), ("node.token", "node.url")] {
            if self.get(token).is_some() && self.get(own).is_none() {
                self.set(own, &now)?;
            }
        }
        Ok(())
    }

    /// Leaves the stored token and the older form of a session with the user they are for when the user changes.
    fn pin_user(&mut self, next: &str) -> Result<()> {
        let Some(now) = self.get("gateway.username").filter(|now| now != next) else { return Ok(()) };
        if self.get("gateway.token").is_some() && self.get("gateway.token_username").is_none() {
            self.set("gateway.token_username", &now)?;
        }
        self.rewrite_old_session()
    }

    /// Puts the file in place in one step, readable by its owner only.
    pub fn save(&mut self) -> Result<()> {
        let failed = |path: &Path, error: std::io::Error| {
            Failure::new(format!("cannot write {}: {error}", path.display()))
        };
        // A link to a file elsewhere stays a link.
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        let directory = path.parent().unwrap_or(Path::new("."));
        create_private_directory(directory).map_err(|error| failed(directory, error))?;
        let mut file = tempfile::NamedTempFile::new_in(directory).map_err(|error| failed(&path, error))?;
        file.write_all(self.document.to_string().as_bytes()).map_err(|error| failed(&path, error))?;
        file.as_file().sync_all().map_err(|error| failed(&path, error))?;
        file.persist(&path).map_err(|error| failed(&path, error.error))?;
        self.private = true;
        Ok(())
    }
}

/// Reads the file anew, changes it and writes it back; nobody else changes it meanwhile.
pub fn update(change: impl FnOnce(&mut ConfigFile) -> Result<()>) -> Result<()> {
    update_at(&path()?, change)
}

fn update_at(path: &Path, change: impl FnOnce(&mut ConfigFile) -> Result<()>) -> Result<()> {
    let lock = lock(path)?;
    let mut file = ConfigFile::load_from(path)?;
    change(&mut file)?;
    file.save()?;
    drop(lock);
    Ok(())
}

/// The file itself is replaced by every change, so what is locked is a file beside it.
fn lock(path: &Path) -> Result<std::fs::File> {
    let beside = path.with_extension("toml.lock");
    let failed = |error: std::io::Error| Failure::new(format!("cannot lock {}: {error}", beside.display()));
    create_private_directory(beside.parent().unwrap_or(Path::new("."))).map_err(failed)?;
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&beside).map_err(failed)?;
    let started = Clock::system().instant();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            // Where nothing can be locked, settings can still be kept.
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) if started.elapsed() < limits::cli::CONFIG_LOCK_WAIT => {
                std::thread::sleep(limits::cli::CONFIG_LOCK_PAUSE);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::new(format!("another command holds {}", beside.display())));
            }
        }
    }
}

fn known(key: &str) -> Result<(&str, &str)> {
    let names = || KEYS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    match key.split_once('.') {
        Some(parts) if KEYS.iter().any(|(name, _)| *name == key) => Ok(parts),
        _ => Err(Failure::usage(format!("unknown local key: {key}"))
            .with_hint(format!("the keys are {}", names()))),
    }
}

#[cfg(unix)]
fn is_private(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    // A file that is not there yet will be made private.
    std::fs::metadata(path).map_or(true, |metadata| metadata.permissions().mode() & 0o077 == 0)
}

#[cfg(not(unix))]
fn is_private(_path: &Path) -> bool {
    true
}

fn create_private_directory(directory: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn file(text: &str) -> (tempfile::TempDir, ConfigFile) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gsv/config.toml");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        let file = ConfigFile::load_from(&path).unwrap();
        (directory, file)
    }

    #[test]
    fn comments_and_foreign_sections_survive_a_change() {
        let (_directory, mut file) =
            file("# mine\n[gateway]\nurl = \"ws://a/ws\" # home\n\n[other]\nx = 1\n");
        file.set("gateway.url", "ws://b/ws").unwrap();
        file.set("gateway.username", "alice").unwrap();
        file.save().unwrap();
        let text = std::fs::read_to_string(&file.path).unwrap();
        assert_eq!(
            text,
            "# mine\n[gateway]\nurl = \"ws://b/ws\" # home\nusername = \"alice\"\n\n[other]\nx = 1\n"
        );
        let again = ConfigFile::load_from(&file.path).unwrap();
        assert_eq!(again.get("gateway.username").as_deref(), Some("alice"));
    }

    #[test]
    fn a_missing_file_is_empty_and_is_made_private() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/gsv/config.toml");
        let mut file = ConfigFile::load_from(&path).unwrap();
        assert_eq!(file.get("gateway.url"), None);
        file.set("node.id", "here").unwrap();
        file.save().unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(ConfigFile::load_from(&path).unwrap().get("node.id").as_deref(), Some("here"));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_is_noticed() {
        use std::os::unix::fs::PermissionsExt;
        let (_directory, file) = file("");
        std::fs::set_permissions(&file.path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(!ConfigFile::load_from(&file.path).unwrap().private);
        std::fs::set_permissions(&file.path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(ConfigFile::load_from(&file.path).unwrap().private);
    }

    #[test]
    fn unknown_keys_and_broken_files_are_refused() {
        let (_directory, mut file) = file("");
        assert!(file.set("gateway.colour", "red").unwrap_err().message.contains("gateway.colour"));
        assert!(file.set("gateway", "x").is_err());
        std::fs::write(&file.path, "[gateway").unwrap();
        assert!(ConfigFile::load_from(&file.path).unwrap_err().message.contains("not valid TOML"));
    }

    #[test]
    fn changes_at_the_same_time_are_all_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gsv/config.toml");
        let count =
            |file: &ConfigFile| -> i64 { file.get("node.id").map_or(0, |text| text.parse().unwrap()) };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        update_at(&path, |file| {
                            let more = count(file) + 1;
                            file.set("node.id", &more.to_string())
                        })
                        .unwrap();
                    }
                });
            }
        });
        assert_eq!(count(&ConfigFile::load_from(&path).unwrap()), 40);
    }

    #[test]
    fn a_device_stays_its_users_when_the_login_changes() {
        let (_directory, mut first) = file("[gateway]\nusername = \"alice\"\nurl = \"ws://a/ws\"\n");
        first.pin_device().unwrap();
        assert_eq!((first.get("node.username"), first.get("node.url")), (None, None));
        first.set("node.token", "t").unwrap();
        first.pin_device().unwrap();
        first.set("gateway.username", "root").unwrap();
        first.set("gateway.url", "ws://b/ws").unwrap();
        first.pin_device().unwrap();
        assert_eq!(first.get("node.username").as_deref(), Some("alice"));
        assert_eq!(first.get("node.url").as_deref(), Some("ws://a/ws"));
    }

    #[test]
    fn removing_takes_only_the_key() {
        let (_directory, mut file) = file("[gateway]\nurl = \"u\"\ntoken = \"s\"\n");
        file.remove("gateway.token");
        file.remove("gateway.nothing");
        file.remove("nowhere.nothing");
        assert_eq!((file.get("gateway.url").as_deref(), file.get("gateway.token")), (Some("u"), None));
    }
}
