//! The password field of `/etc/shadow`: a hash in a format that logging in knows, or none. Never plain text.

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
    let lanes = cost("p=", p).filter(|lanes| (1..=16).contains(lanes));
    let memory_kib = cost("m=", m).filter(|kib| *kib <= 262_144);
    let rounds = cost("t=", t).filter(|rounds| (1..=16).contains(rounds));
    let fits = lanes.zip(memory_kib).is_some_and(|(lanes, kib)| kib >= 8 * lanes) && rounds.is_some();
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
    let iterations = iterations.parse().is_ok_and(|n: u32| (1..=10_000_000).contains(&n));
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
        let costly = ARGON2.replace("m=19456", "m=4000000000");
        let slow = ARGON2.replace("t=2", "t=4000000000");
        for bad in
            ["password1", "!password1", "$6$salt$hash", "$argon2id$", &costly, &slow, "$pbkdf2-sha512$0$$"]
        {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
