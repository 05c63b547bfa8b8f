//! `umask` of a script: which permission bits new files do not get.

use vfs::view::Writing;

use super::Cx;

const USUAL: u32 = 0o022;

/// Where the interpreter keeps it.
pub(crate) const UMASK_VARIABLE: &str = "_UMASK";

/// What new files of this command do not get.
pub(super) fn umask(cx: &Cx<'_>) -> u32 {
    cx.variables.get(UMASK_VARIABLE).and_then(|text| u32::from_str_radix(text, 8).ok()).unwrap_or(USUAL)
        & 0o777
}

/// How a command writes a file that may be new.
pub(super) fn writing(cx: &Cx<'_>) -> Writing {
    Writing { mode: 0o666 & !umask(cx), ..Writing::default() }
}
