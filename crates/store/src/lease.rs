//! Lease handle: a name and a fencing token, as its holder has them.

use std::sync::Arc;

use crate::Error;

/// A lease that somebody holds, or held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub(crate) name: Arc<str>,
    pub(crate) fence: i64,
}

impl Lease {
    /// The name that is unique in the deployment.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its fencing number, higher than that of every earlier holder.
    pub fn fence(&self) -> i64 {
        self.fence
    }

    pub(crate) fn lost(&self) -> Error {
        Error::LeaseLost(self.name.to_string())
    }
}
