//! View with another working directory, for a shell that has changed it.

use std::sync::Arc;

use protocol::identity::ProcessIdentity;

use crate::view::View;

impl View {
    /// The same view with relative paths starting at `cwd`.
    pub fn at(&self, cwd: &str) -> View {
        if self.who.cwd == cwd {
            return self.clone();
        }
        let who = ProcessIdentity { cwd: cwd.to_string(), ..ProcessIdentity::clone(&self.who) };
        View { who: Arc::new(who), ..self.clone() }
    }
}
