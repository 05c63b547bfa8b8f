//! Interface definition of a syscall: one row, and what follows from the row.

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

/// Who a call is for, whatever capabilities, policies and approvals say: what no policy can allow an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Whoever may make it, agents too.
    Anybody,
    /// People: never a program that acts for one, which is a process, a CodeMode block or a package.
    Person,
    /// People whose login may answer approvals.
    Approver,
}

impl By {
    /// All of them.
    pub const ALL: [By; 3] = [By::Anybody, By::Person, By::Approver];

    /// Its word, and what that means, for the reference.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            By::Anybody => ("anybody", "agents too, as far as their policy goes"),
            By::Person => ("people", "no agent, whatever its policy says"),
            By::Approver => ("people who may approve", "no agent, and only logins that may answer approvals"),
        }
    }
}

/// What a call does, whatever its arguments are. A call has one or several of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Changes nothing.
    Reads,
    /// Changes something.
    Writes,
    /// Removes or ends something.
    Destroys,
    /// Changes who may do what, or how the gateway works.
    Rules,
    /// Carries out what its arguments say: what it does cannot be told from its name.
    Opaque,
    /// Reaches other machines, besides what else it does.
    Network,
}

impl Effect {
    /// All of them.
    pub const ALL: [Effect; 6] =
        [Effect::Reads, Effect::Writes, Effect::Destroys, Effect::Rules, Effect::Opaque, Effect::Network];

    /// Its word, and what that means, for the reference.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Effect::Reads => ("reads", "changes nothing"),
            Effect::Writes => ("writes", "changes something"),
            Effect::Destroys => ("destroys", "removes or ends something"),
            Effect::Rules => ("rules", "changes who may do what, or how the gateway works"),
            Effect::Opaque => ("opaque", "carries out what its arguments say, which may be anything"),
            Effect::Network => ("network", "reaches other machines, besides what else it does"),
        }
    }
}

/// A built-in group that holds calls from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Root alone, who holds everything.
    Root,
    /// Group `users`, which every account is in.
    Users,
    /// Connections of role `service`.
    Services,
}

/// Who holds a call on a fresh system, besides root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Whose members hold it.
    pub group: Group,
    /// Whether it holds the whole domain (`fs.*`), or this name only. A row says so for all of its domain or for none.
    pub is_whole_domain: bool,
}

/// What a model sees of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelTool {
    /// The name of the tool, such as `Read`.
    pub name: &'static str,
    /// The arguments it sees, in this order; what else the call takes is for programs.
    pub arguments: &'static [&'static str],
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
    /// What it does; never empty.
    pub effects: &'static [Effect],
    /// Who holds it from the start.
    pub grants: &'static [Grant],
    /// Who it is for.
    pub by: By,
    /// What models see of it, if they see it.
    pub tool: Option<ModelTool>,
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

    /// Whether it changes nothing anywhere, so that it may be made again.
    pub fn only_reads(&self) -> bool {
        matches!(self.effects, [Effect::Reads])
    }

    /// Whether a group holds it from the start.
    pub fn is_granted_to(&self, group: Group) -> bool {
        group == Group::Root || self.grants.iter().any(|grant| grant.group == group)
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
/// A row is `/// doc` and `"name" Args => Result, Access, Route, Effect, Group;`. Several effects are joined by `|`, and
/// so are several groups; `Users.*` means that users hold the whole domain. `, by Person` follows where agents never make
/// the call; without it that is so for what `Rules`, and for nothing else. `, tool "Name"(argument, …)` comes last where
/// models see the call. None of the other columns can be left out: a call whose effect nobody has thought about does not
/// compile.
macro_rules! syscalls {
    ($( $(#[doc = $doc:literal])+ $name:literal $args:ty => $result:ty, $access:ident, $route:ident,
        $($effect:ident)|+, $($group:ident $(. $whole:tt)?)|+
        $(, by $by:ident)? $(, tool $tool:literal ($($argument:ident),+))? ; )*) => {
        $(
            impl $crate::spec::Syscall for $args {
                type Result = $result;
                const SPEC: $crate::spec::Spec = $crate::spec::Spec {
                    name: $name,
                    doc: concat!($($doc, "\n"),+),
                    access: $crate::spec::Access::$access,
                    route: $crate::spec::Route::$route,
                    effects: &[$( $crate::spec::Effect::$effect ),+],
                    grants: &[$( $crate::spec::Grant {
                        group: $crate::spec::Group::$group,
                        is_whole_domain: $crate::spec::is_star(&[$(stringify!($whole))?]),
                    } ),+],
                    by: $crate::spec::by_of(
                        &[$( $crate::spec::By::$by )?],
                        &[$( $crate::spec::Effect::$effect ),+],
                    ),
                    tool: $crate::spec::only(&[$( $crate::spec::ModelTool {
                        name: $tool,
                        arguments: &[$( stringify!($argument) ),+],
                    } )?]),
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

/// Whether something follows the group of a row; that can only be the star of `Users.*`.
pub(crate) const fn is_star(written: &[&str]) -> bool {
    match written {
        [] => false,
        [star] => {
            assert!(
                star.len() == 1 && star.as_bytes()[0] == b'*',
                "a group is followed by `.*` or by nothing"
            );
            true
        }
        _ => false,
    }
}

/// Who a row is for: as written, else people where it changes the rules. What nobody has decided is closed to agents.
pub(crate) const fn by_of(written: &[By], effects: &[Effect]) -> By {
    if let [by, ..] = written {
        return *by;
    }
    let mut at = 0;
    while at < effects.len() {
        if matches!(effects[at], Effect::Rules) {
            return By::Person;
        }
        at += 1;
    }
    By::Anybody
}

/// The tool of a row, where it has one.
pub(crate) const fn only(written: &[ModelTool]) -> Option<ModelTool> {
    match written {
        [tool, ..] => Some(*tool),
        [] => None,
    }
}
