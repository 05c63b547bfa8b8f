//! Encryption at rest: XChaCha20-Poly1305 with a key kept in `keys/secrets.key`, apart from the database.
//!
//! A sealed text is `v1:` and the base64 of nonce and ciphertext. It is bound to the record it belongs to, so
//! it cannot be moved to another one.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};

use crate::directory::not_writable;
use crate::{Error, OpenError, Result};

const SEALED: &str = "v1:";
const KEY_FILE: &str = "gsv-key-1:";
const NONCE_BYTES: usize = 24;

/// Seals and opens.
pub(crate) struct Secrets {
    cipher: XChaCha20Poly1305,
}

impl Secrets {
    fn new(key: &[u8; 32]) -> Secrets {
        Secrets { cipher: XChaCha20Poly1305::new(&Key::from(*key)) }
    }

    /// Encrypts a text that belongs to `record`.
    pub fn seal(&self, record: &str, plain: &str) -> Result<String> {
        let nonce = base::random::bytes::<NONCE_BYTES>();
        let payload = Payload { msg: plain.as_bytes(), aad: record.as_bytes() };
        let sealed = self
            .cipher
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| Error::Failed(format!("{record} is too long to encrypt")))?;
        let mut bytes = nonce.to_vec();
        bytes.extend_from_slice(&sealed);
        Ok(format!("{SEALED}{}", STANDARD.encode(bytes)))
    }

    /// Decrypts a text that belongs to `record`.
    pub fn open(&self, record: &str, sealed: &str) -> Result<String> {
        let damaged = || Error::Failed(format!("{record} cannot be decrypted: it is damaged or was moved"));
        let text = sealed.strip_prefix(SEALED).ok_or_else(damaged)?;
        let bytes = STANDARD.decode(text).map_err(|_| damaged())?;
        let (nonce, body) = bytes.split_first_chunk::<NONCE_BYTES>().ok_or_else(damaged)?;
        let payload = Payload { msg: body, aad: record.as_bytes() };
        let plain = self.cipher.decrypt(&XNonce::from(*nonce), payload).map_err(|_| damaged())?;
        String::from_utf8(plain).map_err(|_| damaged())
    }
}

/// Reads the key, or makes one when there is none and nothing needs the old one.
pub(crate) fn load(path: &Path, anything_sealed: bool) -> std::result::Result<Secrets, OpenError> {
    match std::fs::metadata(path) {
        Ok(metadata) => {
            let mode = metadata.permissions().mode() & 0o777;
            if mode & 0o077 != 0 {
                return Err(OpenError::Failed(format!(
                    "{0} can be read by others (mode {mode:04o}): run chmod 600 {0}",
                    path.display()
                )));
            }
            read(path)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && anything_sealed => {
            Err(OpenError::Failed(format!(
                "{} is missing, and the store holds secrets encrypted with it: put the file back",
                path.display()
            )))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let key = base::random::bytes::<32>();
            create(path, &key).map_err(|error| not_writable(path, &error))?;
            Ok(Secrets::new(&key))
        }
        Err(error) => Err(unreadable(path, &error.to_string())),
    }
}

fn read(path: &Path) -> std::result::Result<Secrets, OpenError> {
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error.to_string()))?;
    let bytes = text.trim_end().strip_prefix(KEY_FILE).and_then(|key| STANDARD.decode(key).ok());
    let key: [u8; 32] = bytes
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| unreadable(path, "it is not a key this version knows"))?;
    Ok(Secrets::new(&key))
}

fn unreadable(path: &Path, why: &str) -> OpenError {
    OpenError::Failed(format!("{} cannot be used: {why}", path.display()))
}

/// Under a temporary name first, so that a crash leaves the whole key or none.
fn create(path: &Path, key: &[u8; 32]) -> io::Result<()> {
    let temporary = path.with_extension("new");
    match std::fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    file.write_all(format!("{KEY_FILE}{}\n", STANDARD.encode(key)).as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)?;
    match path.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_text_opens_only_for_its_record_and_key() {
        let secrets = Secrets::new(&[7; 32]);
        let sealed = secrets.seal("config:a/token", "hush").unwrap();
        assert!(sealed.starts_with("v1:") && !sealed.contains("hush"));
        assert_ne!(sealed, secrets.seal("config:a/token", "hush").unwrap());
        assert_eq!(secrets.open("config:a/token", &sealed).unwrap(), "hush");
        assert!(secrets.open("config:b/token", &sealed).is_err());
        assert!(Secrets::new(&[8; 32]).open("config:a/token", &sealed).is_err());
    }

    #[test]
    fn damaged_texts_are_errors() {
        let secrets = Secrets::new(&[7; 32]);
        let sealed = secrets.seal("r", "hush").unwrap();
        for text in ["", "v1:", "v2:abcd", "v1:%%%%", "v1:AAAA", &sealed[..sealed.len() - 4]] {
            assert!(secrets.open("r", text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_key_file_is_made_once_and_kept_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secrets.key");
        std::fs::write(path.with_extension("new"), "left by a crash").unwrap();
        let sealed = load(&path, false).unwrap().seal("r", "hush").unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(load(&path, true).unwrap().open("r", &sealed).unwrap(), "hush");
    }
}
