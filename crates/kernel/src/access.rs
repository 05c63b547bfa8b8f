//! Access control of calls. What is for people is refused to programs before anything else is asked, so that no policy,
//! no grant and no owner's rights can allow it to an agent. Then by name: somebody without the capability does not learn
//! whether a call exists.

use std::sync::Arc;

use base::sync::lock;
use gateway::{Caller, Capabilities, Origin};
use protocol::error::Error;
use protocol::identity::Role;
use protocol::ids::Gid;
use protocol::spec::{Access, By, Spec};

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
            _ => check_program(caller, spec.by, name)?,
        }
    }
    if !covered {
        return Err(Error::permission_denied(name));
    }
    let spec = spec.ok_or_else(|| Error::unknown_syscall(name))?;
    if !allows(spec.access, caller.role, caller.is_root()) {
        return Err(Error::permission_denied(name));
    }
    check_by(caller, spec.by, name)?;
    Ok(spec)
}

/// Whether something that is for some callers only is for this one: a call, or a setting. `what` names it.
pub(crate) fn check_by(caller: &Caller, by: By, what: &str) -> Result<(), Error> {
    check_program(caller, by, what)?;
    if by == By::Approver && !caller.may_approve {
        return Err(Error::approving_login_required(what));
    }
    Ok(())
}

/// The half of it that is asked before capabilities are: programs know every name anyway.
fn check_program(caller: &Caller, by: By, what: &str) -> Result<(), Error> {
    if by != By::Anybody && caller.origin.is_program() {
        return Err(Error::for_people_only(what));
    }
    Ok(())
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
pub(crate) fn callable(
    capabilities: &Capabilities,
    role: Role,
    root: bool,
    may_approve: bool,
) -> Vec<String> {
    let open = |spec: &&Spec| {
        spec.access != Access::Program
            && allows(spec.access, role, root)
            && (spec.by != By::Approver || may_approve)
            && capabilities.cover(spec.name)
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
    let (role, may_approve) = (login.role, login.may_approve);
    Caller {
        identity,
        role,
        capabilities,
        as_of,
        may_approve,
        origin: Origin::Connection(connection.clone()),
        permit: None,
        door: None,
    }
}
