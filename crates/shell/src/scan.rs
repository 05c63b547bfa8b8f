//! Static scan of a script for the commands that may read the stdin of the script itself: those that nothing is
//! piped or redirected into. Reading the script beforehand keeps the wrapping away from all the others.

use std::collections::BTreeSet;

use base::limits;
use bashkit::parser::{
    AssignmentValue, Command, CompoundCommand, ListOperator, Parser, Redirect, RedirectKind, SimpleCommand,
    Word, WordPart,
};

use crate::builtins;

/// A word whose text is known only when the script runs; no option looks like it.
const UNKNOWN: &str = "\u{0}";

/// The commands of the script that may read its stdin. None when the script cannot be read as a whole.
pub(crate) fn stdin_readers(script: &str) -> Vec<&'static str> {
    if script.len() > limits::native_shell::SCAN_MAX_BYTES {
        return Vec::new();
    }
    let parser = Parser::with_limits(
        script,
        limits::native_shell::SCAN_DEPTH_MAX,
        limits::native_shell::SCAN_MAX_BYTES,
    );
    let Ok(script) = parser.parse() else { return Vec::new() };
    let mut scan = Scan::default();
    scan.list(&script.commands, false);
    scan.calls();
    // What the interpreter hands the end of a pipe past any wrapping is wrapped only where no such command has one.
    let fits = |name: &&str| !(builtins::io(name).takes_pipe && scan.fed.contains(name));
    scan.open.iter().copied().filter(fits).collect()
}

#[derive(Default)]
struct Scan<'a> {
    /// Commands that nothing feeds.
    open: BTreeSet<&'static str>,
    /// Commands that something feeds.
    fed: BTreeSet<&'static str>,
    functions: Vec<(&'a str, &'a Command)>,
    /// Names that were called, and whether something feeds them.
    called: BTreeSet<(&'a str, bool)>,
}

impl<'a> Scan<'a> {
    /// Looks into the functions that are called, as they are called.
    fn calls(&mut self) {
        let mut seen = BTreeSet::new();
        while let Some(call) = self.called.difference(&seen).next().copied() {
            seen.insert(call);
            let (name, fed) = call;
            let bodies: Vec<&'a Command> = self
                .functions
                .iter()
                .filter(|(function, _)| *function == name)
                .map(|(_, body)| *body)
                .collect();
            bodies.into_iter().for_each(|body| self.command(body, fed));
        }
    }

    fn list(&mut self, commands: &'a [Command], fed: bool) {
        commands.iter().for_each(|command| self.command(command, fed));
    }

    fn command(&mut self, command: &'a Command, fed: bool) {
        match command {
            Command::Simple(simple) => self.simple(simple, fed),
            Command::Pipeline(pipeline) => {
                for (at, stage) in pipeline.commands.iter().enumerate() {
                    self.command(stage, fed || at > 0);
                }
            }
            Command::List(list) => {
                let after = list.rest.iter().map(|(operator, _)| Some(*operator)).chain([None]);
                let commands =
                    std::iter::once(list.first.as_ref()).chain(list.rest.iter().map(|(_, command)| command));
                for (command, operator) in commands.zip(after) {
                    // A job in the background reads nothing of ours.
                    self.command(command, fed || operator == Some(ListOperator::Background));
                }
            }
            Command::Compound(compound, redirects) => self.compound(compound, fed || feeds(redirects)),
            Command::Function(function) => self.functions.push((&function.name, &function.body)),
        }
    }

    fn compound(&mut self, compound: &'a CompoundCommand, fed: bool) {
        use CompoundCommand as C;
        match compound {
            C::If(it) => {
                self.list(&it.condition, fed);
                self.list(&it.then_branch, fed);
                for (condition, branch) in &it.elif_branches {
                    self.list(condition, fed);
                    self.list(branch, fed);
                }
                self.list(it.else_branch.as_deref().unwrap_or_default(), fed);
            }
            C::For(it) => {
                self.words(it.words.as_deref().unwrap_or_default(), fed);
                self.list(&it.body, fed);
            }
            C::ArithmeticFor(it) => self.list(&it.body, fed),
            C::While(it) => {
                self.list(&it.condition, fed);
                self.list(&it.body, fed);
            }
            C::Until(it) => {
                self.list(&it.condition, fed);
                self.list(&it.body, fed);
            }
            C::Case(it) => it.cases.iter().for_each(|case| self.list(&case.commands, fed)),
            C::Select(it) => self.list(&it.body, fed),
            C::Subshell(commands) | C::BraceGroup(commands) => self.list(commands, fed),
            C::Time(it) => it.command.iter().for_each(|command| self.command(command, fed)),
            C::Conditional(words) => self.words(words, fed),
            C::Arithmetic(_) => {}
            C::Coproc(it) => self.command(&it.body, true),
        }
    }

    fn simple(&mut self, simple: &'a SimpleCommand, fed: bool) {
        self.words(&simple.args, fed);
        for assignment in &simple.assignments {
            match &assignment.value {
                AssignmentValue::Scalar(word) => self.words(std::slice::from_ref(word), fed),
                AssignmentValue::Array(words) => self.words(words, fed),
            }
        }
        let fed = fed || feeds(&simple.redirects);
        let Some(name) = literal(&simple.name) else { return };
        if builtins::io(name).runs_text || name.contains('/') {
            self.open.extend(builtins::names(|io| io.is_for_unseen));
        }
        self.called.insert((name, fed));
        let Some(name) = builtins::stdin_reader(name) else { return };
        if fed {
            self.fed.insert(name);
            return;
        }
        let args: Vec<String> =
            simple.args.iter().map(|word| literal(word).unwrap_or(UNKNOWN).to_string()).collect();
        if builtins::demand(name, &args).is_some() {
            self.open.insert(name);
        }
    }

    fn words(&mut self, words: &'a [Word], fed: bool) {
        for part in words.iter().flat_map(|word| &word.parts) {
            match part {
                WordPart::CommandSubstitution(commands) => self.list(commands, fed),
                WordPart::ProcessSubstitution { commands, .. } => self.list(commands, true),
                _ => {}
            }
        }
    }
}

fn feeds(redirects: &[Redirect]) -> bool {
    use RedirectKind as K;
    redirects.iter().any(|redirect| {
        redirect.fd.unwrap_or(0) == 0
            && matches!(
                redirect.kind,
                K::Input | K::HereDoc | K::HereDocStrip | K::HereString | K::DupInput | K::ReadWrite
            )
    })
}

fn literal(word: &Word) -> Option<&str> {
    match word.parts.as_slice() {
        [WordPart::Literal(text)] => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nothing_feeds_reads_stdin() {
        for (script, readers) in [
            ("read x; echo got $x", &["read"][..]),
            ("cat", &["cat"]),
            ("cat | wc -l", &["cat"]),
            ("echo hi | cat", &[]),
            ("echo hi | { cat; }; cat", &[]),
            ("while read -r l; do echo $l; done", &["read"]),
            ("while read -r l; do echo $l; done < file", &[]),
            ("x=$(sort)", &["sort"]),
            ("f() { wc -l; }; f", &["wc"]),
            ("f() { cat; }; echo x | f", &[]),
            ("f() { cat; }; f", &["cat"]),
            ("g() { f; }; f() { grep x; g; }; echo x | grep x; g", &[]),
            ("f() { cat; }", &[]),
            ("cat <<< hi", &[]),
            ("cat & wait", &[]),
            ("cat file | grep x | sort", &[]),
            ("eval 'read x'", &["mapfile", "read", "readarray"]),
            ("ls; date; echo", &[]),
            ("if true; then head -1; fi", &["head"]),
            ("echo (", &[]),
        ] {
            assert_eq!(stdin_readers(script), readers, "{script}");
        }
    }
}
