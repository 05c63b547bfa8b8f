//! Who may call what. By name first: somebody without the capability does not learn whether a call exists.

use std::sync::Arc;

use base::sync::lock;
use gateway::{Caller, Capabilities, Origin};
use protocol::error::Error;
use protocol::identity::Role;
use protocol::ids::Gid;
use protocol::spec::{Access, Spec};

use crate::Kernel;
use crate::connections::{Connection, Login};

/// The row of the call, if the caller may make it.
pub(crate) fn check(
    caller: &Caller,
    name: &str,
    spec: Option<&'static Spec>,
) -> Result<&'static Spec, Error> {
    let covered = caller.capabilities.cover(name);
    let from_outside = !caller.origin.is_program();
    if let Some(spec) = spec
        && from_outside
        && matches!(spec.access, Access::Program | Access::Kernel)
    {
        let says_so = covered && spec.access == Access::Kernel && name == "proc.setidentity";
        return Err(if says_so { Error::kernel_only(name) } else { Error::permission_denied(name) });
    }
    if let Some(spec) = spec
        && !from_outside
    {
        match spec.access {
            // They are how a process learns what it may do, so they need no capability themselves.
            Access::Program => return Ok(spec),
            Access::Kernel => return Err(Error::kernel_only(name)),
            _ => {}
        }
    }
    if !covered {
        return Err(Error::permission_denied(name));
    }
    let spec = spec.ok_or_else(|| Error::unknown_syscall(name))?;
    if allows(spec.access, caller.role, caller.is_root()) {
        Ok(spec)
    } else {
        Err(Error::permission_denied(name))
    }
}

fn allows(access: Access, role: Role, root: bool) -> bool {
    match access {
        Access::Granted | Access::Program => true,
        Access::User => role == Role::User,
        Access::Service => role == Role::Service,
        Access::Root => root,
        Access::Open | Access::Kernel => false,
    }
}

/// The names a connection may call, for `sys.connect`.
pub(crate) fn callable(capabilities: &Capabilities, role: Role, root: bool) -> Vec<String> {
    let open = |spec: &&Spec| {
        spec.access != Access::Program && allows(spec.access, role, root) && capabilities.cover(spec.name)
    };
    protocol::calls().filter(open).map(|spec| spec.name.to_string()).collect()
}

/// What a role may do for an account: users what their groups hold, drivers nothing, services what theirs does.
pub(crate) fn capabilities_for(kernel: &Kernel, role: Role, gids: &[Gid]) -> Arc<Capabilities> {
    match role {
        Role::User => kernel.grants.of(gids),
        Role::Driver => Arc::default(),
        Role::Service => kernel.grants.of(&[Gid::SERVICES]),
    }
}

/// The caller behind a logged-in socket, with its capabilities as they are now.
pub(crate) fn caller(kernel: &Kernel, connection: &Arc<Connection>, login: &Login) -> Caller {
    let (identity, capabilities, as_of) = {
        // The account is read under the lock: capabilities of older groups must not be kept as the newest.
        let mut cached = lock(&login.capabilities);
        let generation = kernel.gateway.standing_generation();
        let identity = login.identity();
        if cached.0 != generation {
            *cached = (generation, capabilities_for(kernel, login.role, &identity.gids));
        }
        (identity, cached.1.clone(), generation)
    };
    let origin = Origin::Connection(connection.clone());
    Caller { identity, role: login.role, capabilities, as_of, origin, permit: None }
}
