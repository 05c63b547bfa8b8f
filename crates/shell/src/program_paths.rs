//! Virtual `/bin`: the paths at which the interpreter finds programs for its own commands.

use std::collections::HashSet;
use std::path::Path;
use std::sync::OnceLock;

/// The interpreter's own commands, for which it finds a program under `/bin` and `/usr/bin`.
static BUILTINS: OnceLock<HashSet<String>> = OnceLock::new();

/// Makes the names of the interpreter's own commands known, once.
pub(crate) fn know_builtins(names: impl FnOnce() -> Vec<String>) {
    BUILTINS.get_or_init(|| names().into_iter().collect());
}

/// Whether there is a program of a command at that path.
pub(crate) fn is_program(path: &str) -> bool {
    builtin_at(Path::new(path)).is_some()
}

/// The interpreter's own command whose program that path is.
pub(crate) fn builtin_at(path: &Path) -> Option<&str> {
    let (directory, name) = path.to_str()?.rsplit_once('/')?;
    let is_one = matches!(directory, "/bin" | "/usr/bin") && BUILTINS.get()?.contains(name);
    is_one.then_some(name)
}
