//! Validation of device ids, in one place for token, connect and driver.

use crate::ids::DeviceId;

impl DeviceId {
    /// The rule, for error texts.
    pub const RULE: &str = "a device id has 1 to 200 letters (a-z), digits, '.', '_' and '-', begins with a letter or \
                            a digit, and is not 'gsv'";

    /// A new device's id, trimmed. Paths, sessions and `DEVICE:/path` are written with ids, so that `/`, `:`, blanks and
    /// names such as `.` are none. `gsv` is the gateway itself: a device of that name could never be reached.
    pub fn parse(text: &str) -> Option<DeviceId> {
        let id = text.trim();
        let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let begins_well = id.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        let is_short = id.len() <= base::limits::route::CLIENT_ID_MAX_BYTES;
        let fits = begins_well && is_short && id.bytes().all(is_fit) && !id.eq_ignore_ascii_case("gsv");
        fits.then(|| DeviceId(id.to_string()))
    }

    /// Whether a name means this device: case does not matter.
    pub fn is_named(&self, name: &str) -> bool {
        self.0.trim().eq_ignore_ascii_case(name.trim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_fit_into_paths_and_targets() {
        for good in ["laptop", "node-MacBook.local", "7", "a_b", " trimmed "] {
            assert_eq!(DeviceId::parse(good), Some(DeviceId(good.trim().to_string())));
        }
        let long = "x".repeat(201);
        for bad in [
            "",
            " ",
            ".",
            "..",
            ".x",
            "-x",
            "x/y",
            "a:b",
            "a b",
            "a\tb",
            "gsv",
            "GSV",
            "b\u{fc}ro",
            long.as_str(),
        ] {
            assert_eq!(DeviceId::parse(bad), None, "{bad:?}");
        }
        assert!(DeviceId("Laptop".into()).is_named(" laptop") && !DeviceId("laptop".into()).is_named("lap"));
    }
}
