//! Config values by key. Those with sensitive names are encrypted at rest.

use crate::{Result, Store};

impl Store {
    /// One value.
    pub async fn config_value(&self, _key: &str) -> Result<Option<String>> {
        unimplemented!()
    }

    /// All below `<prefix>/` (all of them when empty), by key.
    pub async fn config_below(&self, _prefix: &str) -> Result<Vec<(String, String)>> {
        unimplemented!()
    }

    /// Sets a value.
    pub async fn config_set(&self, _key: &str, _value: &str) -> Result<()> {
        unimplemented!()
    }

    /// Removes a value. False when there was none.
    pub async fn config_remove(&self, _key: &str) -> Result<bool> {
        unimplemented!()
    }
}
