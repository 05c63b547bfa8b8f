//! In-process call interface: virtual files, shell commands and agents make calls as a client on the network does, and
//! do not know who answers.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::error::Error;
use crate::frame;
use crate::spec::Syscall;

/// A call under way; it ends in the answer's raw data.
pub type Calling = Pin<Box<dyn Future<Output = Result<String, Error>> + Send>>;

type Door = dyn Fn(&str, &str) -> Calling + Send + Sync;

/// The right to make calls as somebody. Cheap to clone.
#[derive(Clone)]
pub struct Calls(Arc<Door>);

impl Calls {
    /// Calls that go through `door`, which gets the name and the raw arguments.
    pub fn new(door: impl Fn(&str, &str) -> Calling + Send + Sync + 'static) -> Calls {
        Calls(Arc::new(door))
    }

    /// A typed call.
    pub async fn call<S: Syscall>(&self, args: &S) -> Result<S::Result, Error> {
        let data = (self.0)(S::SPEC.name, &frame::to_json(args)).await?;
        serde_json::from_str(&data)
            .map_err(|error| Error::internal(&format!("the answer to {} is odd: {error}", S::SPEC.name)))
    }

    /// A call by name with raw JSON arguments; the answer is raw JSON too.
    pub async fn raw(&self, name: &str, args: &str) -> Result<String, Error> {
        (self.0)(name, args).await
    }
}

impl std::fmt::Debug for Calls {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("Calls")
    }
}
