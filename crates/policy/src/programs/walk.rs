//! Syntax tree visitor that collects the simple commands of a parsed script.

use base::limits;
use bashkit::parser::{
    Assignment, AssignmentValue, Command, CompoundCommand, ForCommand, Redirect, RedirectKind, SimpleCommand,
    TimeCommand,
};

use super::arithmetic::Arithmetic;
use super::marks::Marks;
use super::{Redirection, RedirectionKind, Script, Simple, Word, builtins};

/// The way through one script.
pub(super) struct Walk<'a> {
    /// The text of the script.
    pub(super) source: &'a str,
    /// What is found.
    pub(super) commands: Vec<Simple>,
    pub(super) is_clear: bool,
    /// What is evaluated as arithmetic: bash runs the substitutions in there once more.
    pub(super) arithmetic: Arithmetic,
    /// How many `((` were arithmetic.
    pub(super) arithmetic_count: usize,
    /// Where plain text looks like a substitution.
    pub(super) marks: Marks,
    /// How deep in texts within texts.
    pub(super) depth: usize,
}

impl Walk<'_> {
    pub(super) fn new(source: &str) -> Walk<'_> {
        Walk {
            source,
            commands: Vec::new(),
            is_clear: true,
            arithmetic: Arithmetic::default(),
            arithmetic_count: 0,
            marks: Marks::default(),
            depth: 0,
        }
    }

    pub(super) fn finish(self) -> Script {
        // What a shell takes for arithmetic, the parser may have taken for shells within shells.
        let are_arithmetic = self.source.matches("((").count() <= self.arithmetic_count;
        let is_clear = self.is_clear
            && are_arithmetic
            && self.arithmetic.is_clear()
            && self.marks.are_clear(self.source);
        Script { is_clear, commands: self.commands }
    }

    pub(super) fn list(&mut self, commands: &[Command]) {
        commands.iter().for_each(|command| self.command(command));
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Pipeline(pipeline) => self.list(&pipeline.commands),
            Command::List(list) => {
                self.command(&list.first);
                list.rest.iter().for_each(|(_, command)| self.command(command));
            }
            Command::Compound(compound, redirects) => {
                self.compound(compound);
                let (redirections, input) = self.redirections(redirects);
                if !redirections.is_empty() {
                    self.found(Simple { words: Vec::new(), assignments: Vec::new(), redirections, input });
                }
            }
            // Called or not: a call may be hidden where nobody sees it.
            Command::Function(function) => self.command(&function.body),
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        use CompoundCommand as C;
        match compound {
            C::If(it) => {
                self.list(&it.condition);
                self.list(&it.then_branch);
                for (condition, branch) in &it.elif_branches {
                    self.list(condition);
                    self.list(branch);
                }
                self.list(it.else_branch.as_deref().unwrap_or_default());
            }
            C::For(it) => self.for_loop(it),
            C::ArithmeticFor(it) => {
                self.arithmetic_count += 1;
                for clause in [&it.init, &it.condition, &it.step] {
                    self.arithmetic.expression(clause);
                }
                self.list(&it.body);
            }
            C::While(it) => {
                self.list(&it.condition);
                self.list(&it.body);
            }
            C::Until(it) => {
                self.list(&it.condition);
                self.list(&it.body);
            }
            C::Case(it) => {
                self.word(&it.word);
                for case in &it.cases {
                    case.patterns.iter().for_each(|word| {
                        self.word(word);
                    });
                    self.list(&case.commands);
                }
            }
            C::Select(it) => {
                it.words.iter().for_each(|word| {
                    self.word(word);
                });
                self.arithmetic.taint(&it.variable);
                self.assigned(&it.variable, Word::unknown());
                self.list(&it.body);
            }
            C::Subshell(commands) | C::BraceGroup(commands) => self.list(commands),
            C::Arithmetic(expression) => {
                self.arithmetic_count += 1;
                self.arithmetic.expression(expression);
            }
            C::Time(it) => self.time(it),
            C::Conditional(words) => {
                let known: Vec<Word> = words.iter().map(|word| self.word(word)).collect();
                self.arithmetic.conditional(words, &known);
            }
            C::Coproc(it) => self.command(&it.body),
        }
    }

    fn for_loop(&mut self, it: &ForCommand) {
        let mut values = Some(Vec::new());
        for word in it.words.as_deref().unwrap_or_default() {
            let known = self.word(word);
            self.arithmetic.assign(&it.variable, word, &known);
            values = values.zip(known.text).map(|(values, text)| [values, vec![text]].concat());
        }
        if it.words.is_none() {
            self.arithmetic.taint(&it.variable);
            values = None;
        }
        let value = values.map_or_else(Word::unknown, |values| Word::known(values.join(" ")));
        self.assigned(&it.variable, value);
        self.list(&it.body);
    }

    fn time(&mut self, it: &TimeCommand) {
        it.format.iter().for_each(|word| {
            self.word(word);
        });
        if let Some(output) = &it.output {
            let redirection = Redirection { kind: RedirectionKind::Write, target: self.word(output) };
            let redirections = vec![redirection];
            self.found(Simple { words: vec![], assignments: vec![], redirections, input: None });
        }
        it.command.iter().for_each(|command| self.command(command));
    }

    fn simple(&mut self, simple: &SimpleCommand) {
        let name = self.word(&simple.name);
        let is_nameless = name.text.as_deref() == Some("") && simple.args.is_empty();
        // The parser takes `!(x)` at the start of a script for a pattern; a shell runs x.
        self.is_clear &= !name.text.as_deref().or(name.pattern.as_deref()).is_some_and(|it| it.contains('('));
        let mut words = Vec::new();
        if !is_nameless {
            words.push(name);
            for word in &simple.args {
                words.push(self.word(word));
            }
        }
        let assignments = simple.assignments.iter().map(|it| self.assignment(it)).collect();
        let (redirections, input) = self.redirections(&simple.redirects);
        builtins::note(self, &words, &simple.args);
        self.found(Simple { words, assignments, redirections, input });
    }

    fn assignment(&mut self, assignment: &Assignment) -> (String, Word) {
        self.arithmetic.index(assignment.index.as_deref().unwrap_or_default());
        let word = match &assignment.value {
            AssignmentValue::Scalar(word) => {
                let known = self.word(word);
                self.arithmetic.assign(&assignment.name, word, &known);
                known
            }
            AssignmentValue::Array(words) => {
                for word in words {
                    let known = self.word(word);
                    self.arithmetic.assign(&assignment.name, word, &known);
                }
                Word::unknown()
            }
        };
        (assignment.name.clone(), word)
    }

    fn redirections(&mut self, redirects: &[Redirect]) -> (Vec<Redirection>, Option<Word>) {
        let (mut found, mut input) = (Vec::new(), None);
        for redirect in redirects {
            let target = self.word(&redirect.target);
            if redirect.heredoc_delim.as_deref().is_some_and(|end| end.starts_with('\'')) {
                self.marks.are_quoted(&redirect.target);
            }
            let is_descriptor = |word: &Word| {
                word.text.as_deref().is_some_and(|text| {
                    let digits = text.strip_suffix('-').unwrap_or(text);
                    digits.bytes().all(|byte| byte.is_ascii_digit())
                })
            };
            let kind = match redirect.kind {
                RedirectKind::Output
                | RedirectKind::Clobber
                | RedirectKind::OutputBoth
                | RedirectKind::ReadWrite => RedirectionKind::Write,
                RedirectKind::Append => RedirectionKind::Append,
                RedirectKind::Input => RedirectionKind::Read,
                RedirectKind::DupOutput if !is_descriptor(&target) => RedirectionKind::Write,
                RedirectKind::DupInput if !is_descriptor(&target) => RedirectionKind::Read,
                RedirectKind::DupOutput | RedirectKind::DupInput => continue,
                RedirectKind::HereDoc | RedirectKind::HereDocStrip | RedirectKind::HereString => {
                    if redirect.fd.unwrap_or(0) == 0 {
                        input = Some(target);
                    }
                    continue;
                }
            };
            if redirect.fd.unwrap_or(0) == 0 && kind == RedirectionKind::Read {
                input = None;
            }
            found.push(Redirection { kind, target });
        }
        (found, input)
    }

    /// A loop sets its variable.
    fn assigned(&mut self, name: &str, value: Word) {
        let assignments = vec![(name.to_string(), value)];
        self.found(Simple { words: Vec::new(), assignments, redirections: Vec::new(), input: None });
    }

    fn found(&mut self, simple: Simple) {
        if self.commands.len() < limits::approval::COMMANDS_MAX {
            self.commands.push(simple);
        } else {
            self.is_clear = false;
        }
    }
}
