//! Where a new process works: its workspace, and the package sources it wants mounted.

use std::collections::HashSet;

use protocol::error::Error;
use protocol::identity::ProcessIdentity;
use protocol::proc::{MountSpec, Spawn, WorkspaceSpec};
use protocol::sys::workspace::{Create, Workspace, WorkspaceState};
use store::processes::ProcessRow;
use vfs::VPath;

use crate::handlers::Cx;

/// The workspace of a process, and where its relative paths start.
pub(super) struct Place {
    pub(super) workspace_id: Option<String>,
    /// The home when nothing is said.
    pub(super) cwd: Option<String>,
}

impl Place {
    const HOME: Place = Place { workspace_id: None, cwd: None };

    fn root_of(id: String) -> Place {
        Place { cwd: Some(format!("/workspaces/{id}")), workspace_id: Some(id) }
    }
}

/// Finds or makes the place of a process that will act as `who`. The inner error is for `{ok: false}`.
pub(super) async fn place(
    cx: &Cx,
    args: &Spawn,
    who: &ProcessIdentity,
    parent: Option<&ProcessRow>,
    label: Option<&str>,
) -> Result<Result<Place, String>, Error> {
    match &args.workspace {
        Some(WorkspaceSpec::None) => Ok(Ok(Place::HOME)),
        None | Some(WorkspaceSpec::Inherit) => {
            let Some((id, cwd)) = inherited(cx, who, parent) else { return Ok(Ok(Place::HOME)) };
            Ok(usable(cx, who, &id).await?.map(|()| Place { workspace_id: Some(id), cwd: Some(cwd) }))
        }
        Some(WorkspaceSpec::Attach { workspace_id }) => {
            let id = workspace_id.trim().to_string();
            Ok(usable(cx, who, &id).await?.map(|()| Place::root_of(id)))
        }
        Some(WorkspaceSpec::New { label: own, kind }) => {
            let label = own.clone().or_else(|| label.map(str::to_string));
            made(cx, who, Create { label, kind: *kind }).await.map(|id| Ok(Place::root_of(id)))
        }
    }
}

/// The workspace and the directory of the parent; where that has none, of the process that asks.
fn inherited(cx: &Cx, who: &ProcessIdentity, parent: Option<&ProcessRow>) -> Option<(String, String)> {
    let of_parent = parent.and_then(|parent| Some((parent.workspace_id.clone()?, parent.cwd.clone())));
    let asking = &cx.caller.identity;
    let of_caller = || Some((asking.workspace_id.clone()?, asking.cwd.clone()));
    of_parent.or_else(|| if asking.uid == who.uid { of_caller() } else { None })
}

/// Notes that a workspace is used, if the process may use it.
async fn usable(cx: &Cx, who: &ProcessIdentity, id: &str) -> Result<Result<(), String>, Error> {
    let workspaces = cx.area.gateway.store().workspaces();
    let Some(row) = workspaces.by_id(id).await? else { return Ok(Err(format!("Workspace not found: {id}"))) };
    if row.owner_uid != who.uid && !who.uid.is_root() {
        return Ok(Err(format!("Permission denied: workspace {id}")));
    }
    if row.state == WorkspaceState::Active && workspaces.touch(id, cx.area.gateway.now_ms()).await? {
        return Ok(Ok(()));
    }
    Ok(Err(archived(id)))
}

/// What is said about a workspace that was put away.
pub(in crate::handlers) fn archived(id: &str) -> String {
    format!(
        "Workspace is archived: {id}; bring it back with sys.workspace.restore (gsv workspace restore {id})"
    )
}

/// Makes a workspace, as the user the process will act as.
async fn made(cx: &Cx, who: &ProcessIdentity, create: Create) -> Result<String, Error> {
    let gateway = &cx.area.gateway;
    let calls = match who.uid == cx.caller.uid() {
        true => gateway.calls(&cx.caller),
        false => gateway.calls(&gateway.on_behalf_of(who.uid, cx.caller.origin.inward()).await?),
    };
    let workspace: Workspace = calls.call(&create).await?;
    Ok(workspace.workspace_id)
}

/// What is wrong with the package sources that are to be mounted, if something is.
pub(super) fn check_mounts(mounts: &[MountSpec]) -> Result<(), String> {
    let mut taken = HashSet::new();
    for mount in mounts {
        let (MountSpec::PackageSource { mount_path, .. } | MountSpec::PackageRepo { mount_path, .. }) = mount;
        let Some(given) = mount_path else { continue };
        let is_below_src = |path: &VPath| path.as_str().starts_with("/src/");
        let path = VPath::absolute(given.trim()).ok().filter(is_below_src);
        let path = path.filter(|_| given.trim().starts_with('/'));
        let path = path.ok_or_else(|| format!("Unsupported mount path: {given}"))?;
        if !taken.insert(path.as_str().to_string()) {
            return Err(format!("Conflicting package source mount path: {path}"));
        }
    }
    // No package can be installed here yet, so none is known.
    match mounts.first() {
        None => Ok(()),
        Some(MountSpec::PackageSource { package_id, .. } | MountSpec::PackageRepo { package_id, .. }) => Err(
            format!("Unknown package: {package_id}; leave mounts out, or name a package that is installed"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(path: Option<&str>) -> MountSpec {
        MountSpec::PackageSource { package_id: "p".to_string(), mount_path: path.map(str::to_string) }
    }

    #[test]
    fn mounts_are_below_src_and_apart() {
        assert_eq!(check_mounts(&[]), Ok(()));
        for bad in ["/srcx/p", "/home/x", "src/p", "/src/../etc", "", "/src", "/"] {
            assert_eq!(check_mounts(&[mount(Some(bad))]), Err(format!("Unsupported mount path: {bad}")));
        }
        let twice = [mount(Some("/src/packages/p")), mount(Some("/src/packages//p"))];
        let said = "Conflicting package source mount path: /src/packages/p";
        assert_eq!(check_mounts(&twice), Err(said.to_string()));
        let unknown = check_mounts(&[mount(None), mount(Some("/src/packages/q"))]).unwrap_err();
        assert!(unknown.starts_with("Unknown package: p"), "{unknown}");
    }
}
