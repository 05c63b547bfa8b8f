//! Static analysis of a shell command: what it would do. Its programs are found by parsing it, and looked for again in
//! whatever runs other programs: `sudo`, `env`, `xargs`, `sh -c`, `find -exec` and so on.

mod describe;
mod interpreters;
mod look;
mod special;

use crate::programs::{self, Redirection, RedirectionKind, Simple, Word};
use base::limits;

use super::catalogue::{self, Style};
use super::findings::Findings;
use super::paths::PathContext;
use super::shape::Shape;
use super::tags::Tags;
use super::wrappers::{self, Unwrapped, Wrapper};

/// What came out.
#[derive(Debug)]
pub(super) struct Survey {
    pub(super) tags: Tags,
    pub(super) shape: Option<String>,
    pub(super) findings: Findings,
}

impl Survey {
    /// Looks at a command.
    pub(super) fn of(command: &str, paths: &PathContext) -> Survey {
        let shape = Shape::new(paths.cwd());
        let mut surveyor = Surveyor {
            paths,
            tags: Tags::NONE,
            shape,
            depth: 0,
            has_moved: false,
            findings: Findings::default(),
            seen: 0,
        };
        surveyor.script(command);
        let Surveyor { tags, shape, findings, .. } = surveyor;
        // Nothing that is not understood is remembered by how it looks.
        let shape = shape.finish().filter(|_| !tags.intersects(Tags::OPAQUE));
        Survey { tags, shape, findings }
    }
}

/// The look at one command.
struct Surveyor<'a> {
    paths: &'a PathContext,
    tags: Tags,
    shape: Shape,
    /// Programs within programs.
    depth: usize,
    /// Whether relative paths may start somewhere else.
    has_moved: bool,
    findings: Findings,
    /// Programs that were looked at.
    seen: usize,
}

impl Surveyor<'_> {
    /// A whole script.
    fn script(&mut self, text: &str) {
        self.deeper(|surveyor| {
            let script = programs::read(text);
            if !script.is_clear {
                surveyor.opaque();
            }
            let moves = |simple: &Simple| {
                let name = simple.words.first().and_then(|word| word.text.as_deref());
                name.is_some_and(|name| matches!(name, "cd" | "pushd" | "popd" | "chdir"))
            };
            surveyor.has_moved |= script.commands.iter().any(moves);
            for simple in &script.commands {
                surveyor.simple(simple);
            }
        });
    }

    fn simple(&mut self, simple: &Simple) {
        for (name, value) in &simple.assignments {
            self.assign(name, value);
        }
        for redirection in &simple.redirections {
            self.redirect(redirection);
        }
        if !simple.words.is_empty() {
            self.run(&simple.words, simple.input.as_ref());
        }
    }

    /// A program with its arguments.
    fn run(&mut self, words: &[Word], input: Option<&Word>) {
        self.deeper(|surveyor| surveyor.program(words, input));
    }

    fn program(&mut self, words: &[Word], input: Option<&Word>) {
        let Some((name, args)) = words.split_first() else { return };
        let Some(program) = name.text.as_deref().and_then(catalogue::Program::named) else {
            return self.opaque();
        };
        if program.is_file {
            // What is in that file is not known; what it is called may still say something.
            self.opaque();
        }
        let base = program.base.as_str();
        self.seen += 1;
        let (seen, before) = (self.seen, std::mem::replace(&mut self.tags, Tags::NONE));
        self.note_words(base, args);
        self.note_name(base, args);
        self.by_kind(base, args, input);
        // What runs others is judged by them.
        if self.seen == seen {
            self.note_leaf(base, args, self.tags);
        }
        self.tags |= before;
    }

    fn by_kind(&mut self, base: &str, args: &[Word], input: Option<&Word>) {
        if self.interpreter(base, args, input) || self.special(base, args) {
            return;
        }
        match wrappers::find(base) {
            Some(wrapper) => self.wrapped(wrapper, base, args, input),
            None => self.plain(base, args),
        }
    }

    /// A program that only does its own work.
    fn plain(&mut self, base: &str, args: &[Word]) {
        let known = catalogue::find(base);
        self.note_unknown(base);
        self.tags |= known.tags;
        if known.tags.intersects(Tags::MUTATING) {
            self.written_by(args);
        }
        if known.style == Style::Verbatim && !known.tags.intersects(Tags::DESTRUCTIVE) {
            self.unknown(base, args);
        }
        self.describe(base, args, known.style);
    }

    /// A program that is not in the books: it may run another one that is, or be told to destroy.
    fn unknown(&mut self, base: &str, args: &[Word]) {
        for (at, word) in args.iter().enumerate() {
            let Some(text) = word.text.as_deref() else { continue };
            if at < 3 && catalogue::DESTROYING.contains(&text) {
                self.tags |= Tags::DESTRUCTIVE | Tags::MUTATING;
                self.note_order_to_destroy(base, text);
            }
            if catalogue::is_worth_a_look(text) {
                return self.run(&args[at..], None);
            }
            let before = at.checked_sub(1).and_then(|before| args[before].text.as_deref());
            if before.is_some_and(|option| catalogue::INTRODUCING.contains(&option)) {
                self.script(text);
            }
        }
    }

    fn wrapped(&mut self, wrapper: &Wrapper, base: &str, args: &[Word], input: Option<&Word>) {
        self.tags |= wrapper.tags;
        if wrapper.tags.intersects(Tags::PRIVILEGED) {
            self.need(format!("uses the rights of another user: {base}"));
        }
        let Some(Unwrapped { own, assigned, rest }) = wrapper.unwrap(args) else {
            self.opaque();
            // Not understood in its details, but a program may still be seen.
            return self.unknown(base, args);
        };
        for (name, value) in &assigned {
            self.assign(name, value);
        }
        self.verbatim(base, own);
        if rest.is_empty() && wrapper.is_shell_alone {
            self.opaque();
        }
        if !rest.is_empty() {
            self.run(rest, input);
        }
    }

    /// A variable gets a value. Some are orders to the programs that see them.
    fn assign(&mut self, name: &str, value: &Word) {
        if catalogue::is_obeyed(name) {
            self.opaque();
        }
        match &value.text {
            Some(text) => self.shape.add([format!("{name}={text}").as_str()]),
            None => self.shape.lose(),
        }
    }

    fn redirect(&mut self, redirection: &Redirection) {
        let operator = match redirection.kind {
            RedirectionKind::Read => "<",
            RedirectionKind::Write => ">",
            RedirectionKind::Append => ">>",
        };
        let target = &redirection.target;
        let path = target.text.as_deref().unwrap_or(&target.start);
        self.note_secret(path);
        if redirection.kind == RedirectionKind::Read {
            let path = self.paths.resolve(path);
            self.tags |= self.paths.writing(&path).only(Tags::NETWORK);
        } else {
            self.written(path);
            self.note_write(path);
        }
        if redirection.kind == RedirectionKind::Write && target.text.is_some() {
            self.note_overwrite(path);
        }
        match self.where_is(target) {
            Some(place) => self.shape.add([operator, place.as_str()]),
            None => self.shape.lose(),
        }
    }

    /// A file is written whose path is this, or begins like this.
    fn written(&mut self, path: &str) {
        self.tags |= match path {
            "" => Tags::MUTATING,
            path => self.paths.writing(&self.paths.resolve(path)),
        };
    }

    /// The operands of a program that writes. Its tags have been seen to.
    fn written_by(&mut self, args: &[Word]) {
        for word in args {
            let path = word.text.as_deref().unwrap_or(&word.start);
            // `dd of=FILE`, `--target-directory=DIR`
            let path = match path.split_once('=') {
                Some((name, value)) if name == "of" || name.starts_with('-') => value,
                _ => path,
            };
            if !path.starts_with('-') {
                self.written(path);
            }
        }
    }

    /// What happens here cannot be told.
    fn opaque(&mut self) {
        self.tags |= Tags::OPAQUE;
        self.shape.lose();
    }

    fn deeper(&mut self, look: impl FnOnce(&mut Self)) {
        if self.depth >= limits::approval::NESTING_MAX {
            return self.opaque();
        }
        self.depth += 1;
        look(self);
        self.depth -= 1;
    }
}
