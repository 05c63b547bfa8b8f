//! Path resolution of operands. The shell has spoken about `~` before a command runs, and `..` after a link means the
//! directory above where the link leads: a command that removes or moves must not miss that.

use vfs::{Code, Fault, FileKind, Follow, VPath, View};

/// More links than this on one way are a circle.
const LINKS_MAX: usize = 40;

/// Which parts of a path may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// None: everything must be there.
    Nothing,
    /// The last part.
    Last,
    /// Any part.
    Any,
}

/// The place an operand names; the last part is not followed if it is a link.
pub(super) async fn path_of(view: &View, operand: &str) -> Result<VPath, Fault> {
    if operand.is_empty() {
        return Err(Fault::new(Code::NotFound, "open", operand));
    }
    let parts: Vec<&str> = operand.split('/').collect();
    let Some(last) = parts.iter().rposition(|part| *part == "..") else { return literal(view, operand) };
    let above = canonical(view, &parts[..=last].join("/"), Missing::Nothing).await?;
    let names = parts[last + 1..].iter().filter(|part| !part.is_empty() && **part != ".");
    // By way of the text, so that too long names are refused.
    VPath::absolute(&names.fold(above.to_string(), |path, name| format!("{path}/{name}")))
}

/// The place an operand names, without links on the way; a link as the last part only when it is not followed.
/// What a command does at such a place it can insist on doing there and nowhere else.
pub(super) async fn resolve(view: &View, operand: &str, follow: Follow) -> Result<VPath, Fault> {
    if follow == Follow::Yes {
        return canonical(view, operand, Missing::Nothing).await;
    }
    let path = path_of(view, operand).await?;
    match (path.parent(), path.parts().last()) {
        (Some(parent), Some(name)) => {
            Ok(canonical(view, parent.as_str(), Missing::Nothing).await?.join(name))
        }
        _ => Ok(path),
    }
}

/// A path by its text alone: a file may be called `~`.
pub(super) fn literal(view: &View, operand: &str) -> Result<VPath, Fault> {
    if operand.starts_with('~') { view.path(&format!("./{operand}")) } else { view.path(operand) }
}

/// The path without links, `.` and `..`.
pub(super) async fn canonical(view: &View, text: &str, missing: Missing) -> Result<VPath, Fault> {
    if text.is_empty() && missing != Missing::Any {
        return Err(Fault::new(Code::NotFound, "realpath", text));
    }
    // Refuses NUL and what is too long.
    literal(view, text)?;
    let mut todo: Vec<String> = Vec::new();
    put(&mut todo, text);
    if !text.starts_with('/') {
        put(&mut todo, &view.who().cwd);
    }
    let (mut at, mut links) = (VPath::root(), 0);
    let fault = |code| Fault::new(code, "realpath", text);
    while let Some(part) = todo.pop() {
        if part == ".." {
            at = at.parent().unwrap_or_else(VPath::root);
            continue;
        }
        let next = at.join(&part);
        let kind = match view.stat(&next, Follow::No).await {
            Ok(stat) => Some(stat.kind),
            Err(_) if missing == Missing::Any => None,
            Err(fault) if fault.code == Code::NotFound && missing == Missing::Last && todo.is_empty() => None,
            Err(fault) => return Err(fault),
        };
        match kind {
            Some(FileKind::Link) => {
                links += 1;
                if links > LINKS_MAX {
                    return Err(fault(Code::Loop));
                }
                let target = view.read_link(&next).await?;
                put(&mut todo, &target);
                if target.starts_with('/') {
                    at = VPath::root();
                }
            }
            Some(FileKind::File) if missing != Missing::Any && (!todo.is_empty() || text.ends_with('/')) => {
                return Err(fault(Code::NotDirectory));
            }
            _ => at = next,
        }
    }
    Ok(at)
}

/// The parts of a path that mean something, to be popped in order.
fn put(todo: &mut Vec<String>, path: &str) {
    todo.extend(path.split('/').rev().filter(|part| !part.is_empty() && *part != ".").map(str::to_string));
}

/// How to get from a directory to a path: `../src/main.c`.
pub(super) fn relative(from: &VPath, to: &VPath) -> String {
    let (from, to): (Vec<&str>, Vec<&str>) = (from.parts().collect(), to.parts().collect());
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", from.len() - common);
    let way: Vec<&str> = up.chain(to[common..].iter().copied()).collect();
    if way.is_empty() { ".".to_string() } else { way.join("/") }
}

/// The last name of an operand, however many slashes follow it.
pub(super) fn last_name(operand: &str) -> &str {
    let trimmed = operand.trim_end_matches('/');
    if trimmed.is_empty() { "/" } else { trimmed.rsplit('/').next().unwrap_or(trimmed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_from_one_path_to_another() {
        let way = |from, to| relative(&VPath::absolute(from).unwrap(), &VPath::absolute(to).unwrap());
        assert_eq!(way("/a/docs", "/a/src/main.c"), "../src/main.c");
        assert_eq!(way("/a", "/a"), ".");
        assert_eq!(way("/", "/x/y"), "x/y");
        assert_eq!(way("/x/y", "/"), "../..");
    }

    #[test]
    fn the_last_name() {
        for (operand, name) in [("a/b", "b"), ("a/b//", "b"), ("x", "x"), ("/", "/"), ("..", "..")] {
            assert_eq!(last_name(operand), name);
        }
    }
}
