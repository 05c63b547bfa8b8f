//! Validation of the password field of `/etc/shadow`: a hash in a format that logging in knows, or none. Never plain
//! text.

use std::fmt;

/// What the field says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Password {
    /// Absent when there is no password, so that nobody logs in with one.
    pub(crate) hash: Option<String>,
    /// Whether root locked the account; the hash is kept behind a `!`.
    pub(crate) locked: bool,
}

impl Password {
    /// What an account has.
    pub(crate) fn of(hash: &str, locked: bool) -> Password {
        match hash {
            "" | "!" | "*" => Password::default(),
            hash => Password { hash: Some(hash.to_string()), locked },
        }
    }
}

impl fmt::Display for Password {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match (&self.hash, self.locked) {
            (None, _) => f.write_str("!"),
            (Some(hash), true) => write!(f, "!{hash}"),
            (Some(hash), false) => f.write_str(hash),
        }
    }
}

/// Reads the field.
pub(crate) fn parse(field: &str) -> Result<Password, String> {
    if matches!(field, "" | "!" | "*" | "!!" | "!*") {
        return Ok(Password::default());
    }
    let (hash, locked) = match field.strip_prefix('!') {
        Some(hash) => (hash, true),
        None => (field, false),
    };
    if is_argon2(hash) || is_pbkdf2(hash) {
        Ok(Password { hash: Some(hash.to_string()), locked })
    } else {
        Err("the second field must be ! or a hash ($argon2id$… or $pbkdf2-sha512$…), never the password itself"
            .to_string())
    }
}

/// Most memory that checking one password takes.
const MEMORY_KIB_MAX: u32 = 64 * 1024;
/// Most memory that all passes over it touch together.
const WORK_KIB_MAX: u32 = 256 * 1024;
const LANES_MAX: u32 = 4;
const PBKDF2_ROUNDS_MAX: u32 = 1_000_000;

/// `$argon2id$v=19$m=…,t=…,p=…$salt$hash`, base 64 without padding. The cost has bounds: a hash that takes all
/// memory to check would stop everybody's logins.
fn is_argon2(hash: &str) -> bool {
    let fields: Vec<&str> = hash.split('$').collect();
    let ["", "argon2id" | "argon2i" | "argon2d", "v=19", costs, salt, body] = fields.as_slice() else {
        return false;
    };
    let cost = |name: &str, text: &str| -> Option<u32> { text.strip_prefix(name)?.parse().ok() };
    let costs: Vec<&str> = costs.split(',').collect();
    let [m, t, p] = costs.as_slice() else { return false };
    let costs = (cost("m=", m), cost("t=", t), cost("p=", p));
    let (Some(memory_kib), Some(passes), Some(lanes)) = costs else { return false };
    let fits = (1..=LANES_MAX).contains(&lanes)
        && (8 * lanes..=MEMORY_KIB_MAX).contains(&memory_kib)
        && (1..=WORK_KIB_MAX / memory_kib).contains(&passes);
    let text = |field: &str, min: usize, max: usize| {
        (min..=max).contains(&field.len()) && field.len() % 4 != 1 && field.bytes().all(is_base64)
    };
    fits && text(salt, 11, 64) && text(body, 14, 86)
}

/// `$pbkdf2-sha512$<iterations>$<salt>$<hash>`, base 64 with padding; the hash has 64 bytes.
fn is_pbkdf2(hash: &str) -> bool {
    let Some(rest) = hash.strip_prefix("$pbkdf2-sha512$") else { return false };
    let fields: Vec<&str> = rest.split('$').collect();
    let [iterations, salt, body] = fields.as_slice() else { return false };
    let iterations = iterations.parse().is_ok_and(|n: u32| (1..=PBKDF2_ROUNDS_MAX).contains(&n));
    iterations && !salt.is_empty() && is_padded(salt) && is_padded(body) && body.len() == 88
}

fn is_padded(field: &str) -> bool {
    let bare = field.trim_end_matches('=');
    field.len().is_multiple_of(4) && field.len() - bare.len() <= 2 && bare.bytes().all(is_base64)
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/'
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARGON2: &str =
        "$argon2id$v=19$m=19456,t=2,p=1$Z3N2LW5vYm9keS1zYWx0$3pYTSnlJbWzMZ5t1ZGW6yLnmWHjXN4zg5m4bL4C3Qj4";

    #[test]
    fn known_hashes_and_no_password_are_read() {
        assert_eq!(parse(ARGON2).unwrap(), Password { hash: Some(ARGON2.to_string()), locked: false });
        let locked = parse(&format!("!{ARGON2}")).unwrap();
        assert!(locked.locked && locked.to_string() == format!("!{ARGON2}"));
        for none in ["", "!", "*", "!!", "!*"] {
            assert_eq!(parse(none).unwrap(), Password::default(), "{none}");
        }
        let pbkdf2 = format!("$pbkdf2-sha512$1000$MDEyMw==${}==", "A".repeat(86));
        assert_eq!(parse(&pbkdf2).unwrap().hash.as_deref(), Some(pbkdf2.as_str()));
    }

    #[test]
    fn plain_text_and_costly_hashes_are_refused() {
        for bad in ["password1", "!password1", "$6$salt$hash", "$argon2id$", "$pbkdf2-sha512$0$$"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        let argon2 = |costs: &str| parse(&ARGON2.replace("m=19456,t=2,p=1", costs)).is_ok();
        for costs in ["m=65536,t=4,p=4", "m=8,t=32768,p=1", "m=32,t=1,p=4", "m=47104,t=1,p=1"] {
            assert!(argon2(costs), "{costs}");
        }
        let refused = [
            "m=65537,t=1,p=1",
            "m=65536,t=5,p=1",
            "m=65536,t=1,p=5",
            "m=8,t=32769,p=1",
            "m=31,t=1,p=4",
            "m=19456,t=0,p=1",
            "m=19456,t=1,p=0",
            "m=0,t=1,p=1",
            "m=4000000000,t=1,p=1",
            "m=19456,t=4000000000,p=1",
            "m=19456,t=1,p=4000000000",
        ];
        for costs in refused {
            assert!(!argon2(costs), "{costs}");
        }
        let pbkdf2 =
            |rounds: u32| parse(&format!("$pbkdf2-sha512${rounds}$MDEyMw==${}==", "A".repeat(86))).is_ok();
        assert!(pbkdf2(1_000_000) && !pbkdf2(1_000_001));
    }
}
