//! Password hashing off the async threads, behind a bounded queue. New passwords get argon2id; hashes in the older
//! pbkdf2 format still verify.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use base::limits;
use base::random::Random;
use base::sync::lock;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use protocol::error::Error;
use sha2::Sha512;
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;

/// A hash that no password has: what is compared against when there is no such user, so that it takes as long.
const NOBODY: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$Z3N2LW5vYm9keS1zYWx0$3pYTSnlJbWzMZ5t1ZGW6yLnmWHjXN4zg5m4bL4C3Qj4";

/// As many as the format recommends.
const SALT_BYTES: usize = 16;

/// Hashes passwords off the async threads, a few at a time.
#[derive(Clone)]
pub struct Passwords {
    random: Random,
    running: Arc<Semaphore>,
    waiting: Arc<Mutex<HashMap<Option<IpAddr>, usize>>>,
}

/// A slot in the queue, given back when dropped.
struct QueueSlot {
    waiting: Arc<Mutex<HashMap<Option<IpAddr>, usize>>>,
    peer: Option<IpAddr>,
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        let mut waiting = lock(&self.waiting);
        if let Some(count) = waiting.get_mut(&self.peer) {
            *count -= 1;
            if *count == 0 {
                waiting.remove(&self.peer);
            }
        }
    }
}

impl Passwords {
    /// Nothing is being hashed.
    pub fn new(random: Random) -> Passwords {
        Passwords {
            random,
            running: Arc::new(Semaphore::new(limits::login::PASSWORD_HASHES_MAX)),
            waiting: Arc::default(),
        }
    }

    /// The hash to keep for a new password.
    pub async fn hash(&self, password: &str) -> Result<String, Error> {
        let (password, salt) = (password.to_string(), self.random.bytes::<SALT_BYTES>());
        self.off_thread(None, move || {
            let hash = Argon2::default().hash_password_with_salt(password.as_bytes(), &salt);
            let hash: PasswordHash = hash.map_err(failed)?;
            Ok(hash.to_string())
        })
        .await
    }

    /// Whether a password fits a hash. Takes as long when there is none. No address may fill the queue alone.
    pub async fn verify(&self, password: &str, hash: Option<&str>, peer: IpAddr) -> Result<bool, Error> {
        let (password, hash) = (password.to_string(), hash.unwrap_or(NOBODY).to_string());
        self.off_thread(Some(peer), move || Ok(verify(&password, &hash))).await
    }

    fn queue(&self, peer: Option<IpAddr>) -> Option<QueueSlot> {
        let mut waiting = lock(&self.waiting);
        let total: usize = waiting.values().sum();
        let own = waiting.get(&peer).copied().unwrap_or(0);
        if total >= limits::login::PASSWORD_QUEUE_MAX || own >= limits::login::PASSWORD_QUEUE_PER_ADDRESS_MAX
        {
            return None;
        }
        *waiting.entry(peer).or_default() += 1;
        Some(QueueSlot { waiting: self.waiting.clone(), peer })
    }

    async fn off_thread<T: Send + 'static>(
        &self,
        peer: Option<IpAddr>,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let _slot = self.queue(peer).ok_or_else(|| Error::too_busy("too many logins at once"))?;
        let _running = self.running.acquire().await.map_err(failed)?;
        tokio::task::spawn_blocking(work).await.map_err(failed)?
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    tracing::error!(%error, "a password could not be hashed");
    Error::internal("a password could not be hashed")
}

/// Whether a stored hash means that there is no password.
pub fn is_unset(hash: &str) -> bool {
    matches!(hash, "" | "!" | "*")
}

fn verify(password: &str, hash: &str) -> bool {
    if hash.starts_with("$argon2") {
        let parsed = PasswordHash::new(hash);
        return parsed
            .is_ok_and(|parsed| Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok());
    }
    verify_pbkdf2(password, hash).unwrap_or(false)
}

/// `$pbkdf2-sha512$<iterations>$<salt>$<hash>`, both in base 64 with padding.
fn verify_pbkdf2(password: &str, hash: &str) -> Option<bool> {
    let mut parts = hash.strip_prefix("$pbkdf2-sha512$")?.split('$');
    let iterations: u32 = parts.next()?.parse().ok().filter(|n| (1..=10_000_000).contains(n))?;
    let salt = STANDARD.decode(parts.next()?).ok()?;
    let wanted = STANDARD.decode(parts.next()?).ok().filter(|wanted| wanted.len() == 64)?;
    if parts.next().is_some() {
        return None;
    }
    let mut found = [0u8; 64];
    pbkdf2::pbkdf2_hmac::<Sha512>(password.as_bytes(), &salt, iterations, &mut found);
    Some(found.ct_eq(&wanted).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_new_hash_is_argon2id_and_verifies() {
        let passwords = Passwords::new(Random::system());
        let hash = passwords.hash("correct horse").await.unwrap();
        assert!(hash.starts_with("$argon2id$"));
        let peer = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
        assert!(passwords.verify("correct horse", Some(&hash), peer).await.unwrap());
        assert!(!passwords.verify("wrong horse", Some(&hash), peer).await.unwrap());
        assert!(!passwords.verify("anything", None, peer).await.unwrap());
    }

    #[test]
    fn nobody_has_a_hash_that_can_be_computed() {
        assert!(PasswordHash::new(NOBODY).is_ok());
    }

    #[test]
    fn the_older_format_verifies() {
        let mut out = [0u8; 64];
        pbkdf2::pbkdf2_hmac::<Sha512>(b"secret-1", b"0123456789abcdef", 1_000, &mut out);
        let hash =
            format!("$pbkdf2-sha512$1000${}${}", STANDARD.encode(b"0123456789abcdef"), STANDARD.encode(out));
        assert!(verify("secret-1", &hash) && !verify("secret-2", &hash));
        for bad in
            ["", "!", "*", "$pbkdf2-sha512$", "$pbkdf2-sha512$x$y$z", "$pbkdf2-sha512$0$AA==$AA==", "plain"]
        {
            assert!(!verify("", bad) && !verify(bad, bad), "{bad}");
        }
    }
}
