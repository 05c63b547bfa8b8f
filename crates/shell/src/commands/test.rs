//! `test` and `[`: conditions. The interpreter's own one takes every file for readable and writable; this one
//! asks the tree.

mod files;
mod grammar;

use super::{Command, Cx, Done};
use crate::builtin_io::{Endless, Holds, Io};
use grammar::Node;

pub(super) static COMMAND: Command = Command {
    name: "test",
    aliases: &["["],
    about: "evaluate a condition",
    usage: "EXPRESSION",
    manual: "\
Files:    -e -a there  -f file  -d directory  -L -h link  -s not empty  -r -w -x you may  -O yours  -G your group's
          -u -g -k mode bits  -c device  A -nt B newer  A -ot B older  A -ef B the same
Text:     -z empty  -n not empty  A = B  A == B  A != B  A < B  A > B
Numbers:  A -eq B  -ne  -lt  -le  -gt  -ge
Shell:    -v variable is set  -o option is on  -t terminal
Together: ! EXPR   ( EXPR )   EXPR -a EXPR   EXPR -o EXPR
Exit code 0 for true, 1 for false, 2 for a mistake.",
    io: Io { holds: Holds::Nothing, endless: Endless::Nothing, ..Io::PLAIN },
    run: |cx| Box::pin(run(cx)),
};

async fn run(cx: &Cx<'_>) -> Done {
    let words = match (cx.name, cx.args.split_last()) {
        ("[", Some((last, words))) if last == "]" => words,
        ("[", _) => return Done::failed("[", "missing `]'", 2),
        _ => cx.args,
    };
    let truth = match grammar::parse(words) {
        Ok(node) => evaluate(cx, &node).await,
        Err(why) => Err(why),
    };
    match truth {
        Ok(truth) => Done { code: i32::from(!truth), ..Done::default() },
        Err(why) => Done::failed(cx.name, why, 2),
    }
}

/// Whether a condition holds. Both sides of `-a` and `-o` are looked at, as bash does: a mistake on the right
/// is one even when the left has decided.
async fn evaluate(cx: &Cx<'_>, root: &Node) -> Result<bool, String> {
    // Depth first without recursion: a long line of words must not use up the stack.
    enum Step<'a> {
        Look(&'a Node),
        Not,
        And,
        Or,
    }
    let (mut steps, mut truths) = (vec![Step::Look(root)], Vec::new());
    while let Some(step) = steps.pop() {
        match step {
            Step::Look(Node::Const(truth)) => truths.push(*truth),
            Step::Look(Node::Unary(operator, word)) => truths.push(unary(cx, operator, word).await?),
            Step::Look(Node::Binary(left, operator, right)) => {
                truths.push(binary(cx, left, operator, right).await?);
            }
            Step::Look(Node::Not(node)) => steps.extend([Step::Not, Step::Look(node)]),
            Step::Look(Node::And(left, right)) => {
                steps.extend([Step::And, Step::Look(right), Step::Look(left)]);
            }
            Step::Look(Node::Or(left, right)) => {
                steps.extend([Step::Or, Step::Look(right), Step::Look(left)])
            }
            Step::Not => {
                let truth = truths.pop().unwrap_or_default();
                truths.push(!truth);
            }
            Step::And => {
                let (right, left) = (truths.pop().unwrap_or_default(), truths.pop().unwrap_or_default());
                truths.push(left && right);
            }
            Step::Or => {
                let (right, left) = (truths.pop().unwrap_or_default(), truths.pop().unwrap_or_default());
                truths.push(left || right);
            }
        }
    }
    Ok(truths.pop().unwrap_or_default())
}

async fn unary(cx: &Cx<'_>, operator: &str, word: &str) -> Result<bool, String> {
    let set = |name: &str| cx.variables.contains_key(name) || cx.env.contains_key(name);
    Ok(match operator {
        "-z" => word.is_empty(),
        "-n" => !word.is_empty(),
        "-v" => set(word),
        // The interpreter keeps options as variables of these names.
        "-o" => option_letter(word).is_some_and(|letter| {
            cx.variables.get(&format!("SHOPT_{letter}")).is_some_and(|value| value == "1")
        }),
        "-t" => cx.variables.get(&format!("_TTY_{word}")).is_some_and(|value| value == "1"),
        "-R" | "-b" | "-p" | "-S" | "-N" => false,
        _ => files::unary(cx, operator, word).await,
    })
}

async fn binary(cx: &Cx<'_>, left: &str, operator: &str, right: &str) -> Result<bool, String> {
    Ok(match operator {
        "=" | "==" => left == right,
        "!=" => left != right,
        "<" => left < right,
        ">" => left > right,
        "-nt" | "-ot" | "-ef" => files::binary(cx, left, operator, right).await,
        _ => {
            let (left, right) = (integer(left)?, integer(right)?);
            match operator {
                "-eq" => left == right,
                "-ne" => left != right,
                "-lt" => left < right,
                "-le" => left <= right,
                "-gt" => left > right,
                _ => left >= right,
            }
        }
    })
}

fn integer(text: &str) -> Result<i64, String> {
    text.trim().parse().map_err(|_| format!("{text}: integer expression expected"))
}

fn option_letter(name: &str) -> Option<&'static str> {
    Some(match name {
        "allexport" => "a",
        "errexit" => "e",
        "noglob" => "f",
        "noexec" => "n",
        "nounset" => "u",
        "verbose" => "v",
        "xtrace" => "x",
        "noclobber" => "C",
        "pipefail" => "pipefail",
        _ => return None,
    })
}
