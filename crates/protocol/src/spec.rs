//! A syscall, defined once: its row, and what follows from the row.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Who may make a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anybody, before logging in.
    Open,
    /// Whoever holds a capability that covers the name.
    Granted,
    /// Connections of role `user` that hold the capability.
    User,
    /// Connections of role `service` that hold the capability.
    Service,
    /// Root only, on top of the capability.
    Root,
    /// Processes and package apps only, never a connection.
    Program,
    /// The kernel itself only.
    Kernel,
}

/// Where a call is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// By the kernel.
    Kernel,
    /// Natively, or by the device that `target` or `sessionId` names.
    Target,
    /// By a process, through its mailbox.
    Process,
    /// Inside the calling process.
    Local,
}

/// One row of the syscall table.
#[derive(Clone, Copy)]
pub struct Spec {
    /// The name on the wire, such as `fs.read`.
    pub name: &'static str,
    /// What it does, for people.
    pub doc: &'static str,
    /// Who may call it.
    pub access: Access,
    /// Where it is answered.
    pub route: Route,
    /// The name agents see, if they see it.
    pub tool: Option<&'static str>,
    /// JSON Schema of the arguments.
    pub args: fn(&mut SchemaGenerator) -> Schema,
    /// JSON Schema of the result.
    pub result: fn(&mut SchemaGenerator) -> Schema,
}

impl Spec {
    /// The part before the first dot.
    pub fn domain(&self) -> &'static str {
        self.name.split('.').next().unwrap_or(self.name)
    }

    /// The doc comment as one paragraph.
    pub fn text(&self) -> String {
        self.doc.lines().map(str::trim).collect::<Vec<_>>().join(" ").trim().to_string()
    }
}

/// Implemented by the argument type of each call; the type alone says which call it is.
pub trait Syscall: Serialize + DeserializeOwned + JsonSchema + Send + 'static {
    /// What the call answers.
    type Result: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    /// Its row.
    const SPEC: Spec;
}

/// The schema of a type, as a reference where the type has a name.
pub fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Opens a domain's file: one row per call, then the table `CALLS`.
///
/// A row is `/// doc`, `"name" Args => Result, Access, Route;` and `, tool "Name"` where agents see it.
macro_rules! syscalls {
    ($( $(#[doc = $doc:literal])+ $name:literal $args:ty => $result:ty, $access:ident, $route:ident
        $(, tool $tool:literal)? ; )*) => {
        $(
            impl $crate::spec::Syscall for $args {
                type Result = $result;
                const SPEC: $crate::spec::Spec = $crate::spec::Spec {
                    name: $name,
                    doc: concat!($($doc, "\n"),+),
                    access: $crate::spec::Access::$access,
                    route: $crate::spec::Route::$route,
                    tool: { let _none: Option<&'static str> = None; $( let _none = Some($tool); )? _none },
                    args: $crate::spec::schema_of::<$args>,
                    result: $crate::spec::schema_of::<$result>,
                };
            }
        )*
        /// Every call of this domain.
        pub static CALLS: &[$crate::spec::Spec] =
            &[$( <$args as $crate::spec::Syscall>::SPEC ),*];
    };
}
pub(crate) use syscalls;
