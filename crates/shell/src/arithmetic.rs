//! Complexity limit for nested arithmetic: the interpreter looks for commands in `$((…))` by copying, at each further
//! `$((`, all that follows. A few hundred thousand of them keep its thread busy for hours, and it does not look at its
//! time meanwhile. No such expression can be evaluated anyway: one of more than 8 KiB is refused at the end.

use base::limits;
use bashkit::hooks::{HookAction, ToolEvent};

use crate::rewrites::PIPES;

/// What is said of a script with such an expression.
pub(crate) const TOO_NESTED: &str = "arithmetic nested too much";

const OPEN: &str = "$((";

/// Whether a text has an arithmetic expression that is both long and full of others. As the interpreter reads it: from a
/// `$((` to where as many brackets are closed as were opened, wherever they stand.
pub(crate) fn is_too_nested(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find(OPEN) {
        let expression = &rest[at..];
        let end = length(expression);
        let is_long = end > limits::native_shell::ARITHMETIC_MAX_BYTES;
        if is_long && expression[..end].matches(OPEN).count() > limits::native_shell::ARITHMETIC_NESTED_MAX {
            return true;
        }
        rest = &expression[end..];
    }
    false
}

/// How long the expression is that a text begins with.
fn length(text: &str) -> usize {
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    text.len()
}

/// Whether a command reads its words, or a file it names, as a script.
pub(crate) fn runs_scripts(name: &str) -> bool {
    matches!(name, "eval" | "source" | "." | "bash" | "sh" | "trap")
}

/// What is said of a script behind a process substitution: nobody can look at it before the interpreter reads it.
const UNSEEN: &str = "a script cannot be read from <(...) here: use eval \"$(...)\"";

/// A script that is given as words is looked at as well.
pub(crate) fn bounded(event: ToolEvent) -> HookAction<ToolEvent> {
    let is_pipe = event.args.first().is_some_and(|file| file.starts_with(PIPES));
    if matches!(event.name.as_str(), "." | "source") && is_pipe {
        return HookAction::Cancel(UNSEEN.to_string());
    }
    let is_hostile = runs_scripts(&event.name)
        && (event.args.iter().any(|word| is_too_nested(word)) || is_too_nested(&event.args.join(" ")));
    if is_hostile { HookAction::Cancel(TOO_NESTED.to_string()) } else { HookAction::Continue(event) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_expressions_full_of_others_are_too_much() {
        let nested = |count: usize| format!("echo {}1{}", OPEN.repeat(count), "))".repeat(count));
        assert!(!is_too_nested(&nested(100)));
        assert!(is_too_nested(&nested(10_000)));
        assert!(is_too_nested(&format!("x=1; {}", OPEN.repeat(10_000))), "also one that is never closed");
        assert!(
            !is_too_nested(&"echo $((1 + 1)) $((2 * (3 + 4)))\n".repeat(10_000)),
            "many one after another"
        );
        assert!(!is_too_nested(&format!("echo $((1{}))", "+1".repeat(100_000))), "long and flat");
        assert!(
            is_too_nested(&format!("echo $((0{}))", " + $((1))".repeat(10_000))),
            "beside each other in one"
        );
        assert!(!is_too_nested("$(( )) ) $("));
    }
}
