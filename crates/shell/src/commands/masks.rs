//! The `umask`: which permission bits new files do not get.

use super::Cx;

/// The interpreter keeps it in this variable, so that a subshell has its own.
const VARIABLE: &str = "_UMASK";
const USUAL: u32 = 0o022;

/// What new files of this command do not get.
pub(super) fn umask(cx: &Cx<'_>) -> u32 {
    cx.variables.get(VARIABLE).and_then(|text| u32::from_str_radix(text, 8).ok()).unwrap_or(USUAL) & 0o777
}
