//! One block in one engine: its globals, its calls and timers, its limits inside the engine, and how it ended.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::{Duration, Instant};

use base::clock::Clock;
use base::limits::codemode as limits;
use guest::{Channel, Incoming};
use rquickjs::context::EvalOptions;
use rquickjs::{CaughtError, Context, Ctx, Function, Object, Persistent, Runtime, Value};
use serde::Deserialize;

use super::{source, typescript};
use crate::program::{Ended, Program};

const PRELUDE: &str = include_str!("prelude.js");
const WEB: &str = include_str!("web.js");
/// The name of the block in locations of errors.
const FILE: &str = "block.js";

/// A block and the engine that runs it.
pub(super) struct World {
    // The order matters: what lives in the engine goes before it.
    hooks: Persistent<Object<'static>>,
    context: Context,
    runtime: Runtime,
    host: Rc<Host>,
}

/// What the functions of the host share.
struct Host {
    channel: Rc<RefCell<Channel>>,
    block: String,
    clock: Clock,
    /// When the engine was last entered.
    entered: Cell<Instant>,
    slice: Duration,
    was_interrupted: Cell<bool>,
    /// Calls without an answer.
    pending: Cell<usize>,
    timers: RefCell<BTreeSet<(Instant, u32)>>,
    ended: RefCell<Option<Ended>>,
    /// The text that was compiled, to show the line of an error.
    text: RefCell<String>,
}

/// An error as the prelude tells it.
#[derive(Deserialize)]
struct Thrown {
    name: String,
    message: String,
    stack: String,
}

impl World {
    pub(super) fn new(
        channel: Rc<RefCell<Channel>>,
        block: &str,
        program: &Program,
        hooks: bool,
    ) -> rquickjs::Result<World> {
        let clock = Clock::system();
        let host = Rc::new(Host {
            channel,
            block: block.to_string(),
            entered: Cell::new(clock.instant()),
            clock,
            slice: Duration::from_millis(program.slice_ms),
            was_interrupted: Cell::new(false),
            pending: Cell::new(0),
            timers: RefCell::default(),
            ended: RefCell::default(),
            text: RefCell::default(),
        });
        let runtime = Runtime::new()?;
        runtime.set_memory_limit(program.heap_bytes);
        runtime.set_max_stack_size(limits::STACK_BYTES);
        let watched = host.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || watched.is_out_of_time())));
        let context = Context::full(&runtime)?;
        let hooks = context.with(|ctx| -> rquickjs::Result<_> {
            let functions = host_functions(&ctx, &host)?;
            let web: Function<'_> = ctx.eval(WEB)?;
            web.call::<_, ()>((functions.clone(),))?;
            if hooks {
                let crash = Function::new(ctx.clone(), |how: String| super::super::crash::crash(&how))?;
                ctx.globals().set("__crash", crash)?;
            }
            let input = ctx.json_parse(protocol::frame::to_json(program))?;
            let prelude: Function<'_> = ctx.eval(PRELUDE)?;
            let hooks: Object<'_> = prelude.call((functions, input))?;
            Ok(Persistent::save(&ctx, hooks))
        })?;
        Ok(World { hooks, context, runtime, host })
    }

    /// Runs the block to its end.
    pub(super) fn run(self, code: &str) -> Ended {
        self.host.entered.set(self.host.clock.instant());
        if let Err(ended) = self.start(code) {
            return ended;
        }
        loop {
            self.run_jobs();
            if self.host.was_interrupted.get() {
                return Ended::Threw("Execution timed out".to_string());
            }
            if let Some(ended) = self.host.ended.borrow_mut().take() {
                return ended;
            }
            let next = self.host.timers.borrow().first().copied();
            if next.is_none() && self.host.pending.get() == 0 {
                let why = "The block waits for a promise that nothing can settle: no call and no timer is under way";
                return Ended::Threw(why.to_string());
            }
            let now = self.host.clock.instant();
            let wait = next.map(|(at, _)| at.saturating_duration_since(now));
            let told = self.host.channel.borrow_mut().receive(wait);
            self.host.entered.set(self.host.clock.instant());
            match told {
                Some(Incoming::Answer(answer)) if answer.block == self.host.block => {
                    self.host.pending.set(self.host.pending.get().saturating_sub(1));
                    let (ok, text) = match answer.result {
                        Ok(text) => (true, text),
                        Err(text) => (false, text),
                    };
                    self.hook("deliver", (answer.call as f64, ok, text));
                }
                Some(_) => {}
                None => self.fire_timers(),
            }
        }
    }

    fn fire_timers(&self) {
        let now = self.host.clock.instant();
        loop {
            let due = {
                let mut timers = self.host.timers.borrow_mut();
                match timers.first().copied() {
                    Some(first) if first.0 <= now => timers.pop_first(),
                    _ => None,
                }
            };
            let Some((_, id)) = due else { return };
            self.hook("fire", (f64::from(id),));
            self.run_jobs();
        }
    }

    /// Compiles the block and calls it.
    fn start(&self, code: &str) -> Result<(), Ended> {
        self.context.with(|ctx| {
            let main = self.compile(&ctx, code)?;
            let started = self
                .hooks
                .clone()
                .restore(&ctx)
                .and_then(|hooks| hooks.get::<_, Function<'_>>("start")?.call::<_, ()>((main,)));
            started.map_err(|error| self.told(CaughtError::from_error(&ctx, error)))
        })
    }

    /// The first reading that compiles: as it is, or without types.
    fn compile<'js>(&self, ctx: &Ctx<'js>, code: &str) -> Result<Function<'js>, Ended> {
        let mut why = None;
        for text in source::readings(code) {
            match self.eval(ctx, &text) {
                Ok(main) => return Ok(main),
                Err(ended) => why = Some(ended),
            }
            match typescript::erase(&text) {
                Some(Ok(erased)) if erased != text => match self.eval(ctx, &erased) {
                    Ok(main) => return Ok(main),
                    Err(ended) => why = Some(ended),
                },
                Some(Err(refused)) => why = Some(Ended::Threw(refused)),
                _ => {}
            }
        }
        let Some(Ended::Threw(mut why)) = why else {
            return Err(Ended::Threw("SyntaxError: the block could not be compiled".to_string()));
        };
        if source::looks_like_shell(code) {
            why += "\nThis looks like a command for a shell. A block is JavaScript: use `return await shell(\"…\")`.";
        }
        Err(Ended::Threw(why))
    }

    fn eval<'js>(&self, ctx: &Ctx<'js>, text: &str) -> Result<Function<'js>, Ended> {
        let mut options = EvalOptions::default();
        options.strict = true;
        options.filename = Some(FILE.to_string());
        *self.host.text.borrow_mut() = text.to_string();
        let main = ctx.eval_with_options::<Function<'js>, _>(text, options);
        main.map_err(|error| self.told(CaughtError::from_error(ctx, error)))
    }

    fn hook<A>(&self, name: &str, arguments: A)
    where
        A: for<'js> rquickjs::function::IntoArgs<'js>,
    {
        self.context.with(|ctx| {
            let called = self
                .hooks
                .clone()
                .restore(&ctx)
                .and_then(|hooks| hooks.get::<_, Function<'_>>(name)?.call::<_, ()>(arguments));
            if let Err(error) = called {
                let ended = self.told(CaughtError::from_error(&ctx, error));
                self.host.ended.borrow_mut().get_or_insert(ended);
            }
        });
    }

    /// Does what promises left to be done. A job that throws has told somebody's promise; one that is stopped ends all.
    fn run_jobs(&self) {
        while !self.host.was_interrupted.get() {
            match self.runtime.execute_pending_job() {
                Ok(true) => {}
                Ok(false) => return,
                Err(exception) => {
                    exception.0.with(|ctx| drop(ctx.catch()));
                }
            }
        }
    }

    fn told(&self, error: CaughtError<'_>) -> Ended {
        if self.host.was_interrupted.get() {
            return Ended::Threw("Execution timed out".to_string());
        }
        let thrown = match error {
            CaughtError::Exception(exception) => Thrown {
                name: exception.get::<_, String>("name").unwrap_or_default(),
                message: exception.message().unwrap_or_default(),
                stack: exception.stack().unwrap_or_default(),
            },
            CaughtError::Value(value) => {
                Thrown { name: String::new(), message: text_of(&value), stack: String::new() }
            }
            CaughtError::Error(error) => {
                Thrown { name: String::new(), message: error.to_string(), stack: String::new() }
            }
        };
        Ended::Threw(self.host.describe(&thrown))
    }
}

fn text_of(value: &Value<'_>) -> String {
    value
        .as_string()
        .and_then(|text| text.to_string().ok())
        .unwrap_or_else(|| "something was thrown".to_string())
}

impl Host {
    /// Asked by the engine every now and then; native loops do not ask, which is why the gateway watches as well.
    fn is_out_of_time(&self) -> bool {
        let is_late = self.clock.instant().saturating_duration_since(self.entered.get()) >= self.slice;
        self.was_interrupted.set(self.was_interrupted.get() || is_late);
        is_late
    }

    fn set_timer(&self, id: f64, wait_ms: f64) -> bool {
        let mut timers = self.timers.borrow_mut();
        if timers.len() >= limits::TIMERS_MAX {
            return false;
        }
        let wait = Duration::from_millis(wait_ms.clamp(0.0, 1e9) as u64);
        timers.insert((self.clock.instant() + wait, id as u32));
        true
    }

    fn call(&self, id: f64, name: &str, args: &str) -> Option<String> {
        if self.channel.borrow_mut().call(&self.block, id as u64, name, args) {
            self.pending.set(self.pending.get() + 1);
            return None;
        }
        Some(format!("{name}: the arguments are larger than a call of a block may be"))
    }

    fn end(&self, ended: Ended) {
        self.ended.borrow_mut().get_or_insert(ended);
    }

    /// What the error of a block says: a plain `Error` its message alone; what the engine threw its name and the place.
    fn describe(&self, thrown: &Thrown) -> String {
        let Thrown { name, message, stack } = thrown;
        let is_plain = name.is_empty() || name == "Error";
        let mut text = match (is_plain, message.is_empty()) {
            (true, true) => "Error".to_string(),
            (true, false) => message.clone(),
            (false, true) => name.clone(),
            (false, false) => format!("{name}: {message}"),
        };
        if !is_plain && let Some((line, column)) = place(stack) {
            let shown = self.text.borrow().lines().nth(line + source::LINES_BEFORE - 1).map(str::to_string);
            text += &format!("\nat line {line}:{column}");
            if let Some(shown) = shown.filter(|shown| !shown.trim().is_empty()) {
                let shown: String = shown.trim().chars().take(200).collect();
                text += &format!(": {shown}");
            }
        }
        text.truncate(text.floor_char_boundary(limits::ERROR_MAX_BYTES));
        text
    }
}

/// The first place within the block that a stack names, in lines of the code as it was given.
fn place(stack: &str) -> Option<(usize, usize)> {
    stack.lines().find_map(|frame| {
        let (_, at) = frame.split_once("block.js:")?;
        let mut numbers = at.split(|c: char| !c.is_ascii_digit()).map(str::parse::<usize>);
        let (line, column) = (numbers.next()?.ok()?, numbers.next().and_then(Result::ok).unwrap_or(1));
        Some((line.checked_sub(source::LINES_BEFORE).filter(|line| *line > 0)?, column))
    })
}

/// The functions that the prelude gets; the block itself sees none of them.
fn host_functions<'js>(ctx: &Ctx<'js>, host: &Rc<Host>) -> rquickjs::Result<Object<'js>> {
    let functions = Object::new(ctx.clone())?;
    let own = || host.clone();
    let (call, log, timer, forget, done, fail) = (own(), own(), own(), own(), own(), own());
    let function = |name: &str, function: Function<'js>| functions.set(name, function);
    function(
        "call",
        Function::new(ctx.clone(), move |id: f64, name: String, args: String| call.call(id, &name, &args))?,
    )?;
    function(
        "log",
        Function::new(ctx.clone(), move |line: String| log.channel.borrow_mut().log(&log.block, &line))?,
    )?;
    function(
        "timer",
        Function::new(ctx.clone(), move |id: f64, wait_ms: f64| timer.set_timer(id, wait_ms))?,
    )?;
    function(
        "forgetTimer",
        Function::new(ctx.clone(), move |id: f64| {
            forget.timers.borrow_mut().retain(|(_, timer)| *timer != id as u32);
        })?,
    )?;
    function("done", Function::new(ctx.clone(), move |text: String| done.end(Ended::Returned(text)))?)?;
    function(
        "fail",
        Function::new(ctx.clone(), move |text: String| {
            let thrown = serde_json::from_str::<Thrown>(&text);
            let text = thrown.map_or(text, |thrown| fail.describe(&thrown));
            fail.end(Ended::Threw(text));
        })?,
    )?;
    function("uuid", Function::new(ctx.clone(), base::random::uuid)?)?;
    function("randomByte", Function::new(ctx.clone(), || f64::from(base::random::bytes::<1>()[0]))?)?;
    function(
        "url",
        Function::new(ctx.clone(), |text: String, base: String| super::url_parts::parse(&text, &base))?,
    )?;
    function(
        "setUrl",
        Function::new(ctx.clone(), |href: String, part: String, value: String| {
            super::url_parts::set(&href, &part, &value)
        })?,
    )?;
    function("percentDecode", Function::new(ctx.clone(), |text: String| super::url_parts::decode(&text))?)?;
    Ok(functions)
}
