//! Null object in the place of a keyring, for systems whose own is not spoken to yet.

use std::time::Duration;

use super::{Access, KeyringError, Result};

/// No keyring: it never opens.
pub enum Absent {}

impl Absent {
    pub async fn open(_timeout: Duration) -> Result<Absent> {
        Err(KeyringError::new("there is none on this system that gsv can use"))
    }

    pub async fn put(&self, _name: &str, _label: &str, _secret: &str, _access: Access) -> Result<()> {
        match *self {}
    }

    pub async fn find(&self, _name: &str, _access: Access) -> Result<Option<String>> {
        match *self {}
    }

    pub async fn remove(&self, _name: &str, _access: Access) -> Result<()> {
        match *self {}
    }
}
