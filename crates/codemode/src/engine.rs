//! The child's side: JavaScript in QuickJS, one block at a time, each in a runtime of its own. Nothing here is trusted:
//! what holds the block is the operating system around the child, and the gateway at the other end of the channel.

mod source;
mod typescript;
mod url_parts;
mod world;

use std::cell::RefCell;
use std::rc::Rc;

use guest::{Channel, Incoming};

use crate::program::{Ended, Program};
use world::World;

/// Serves blocks until the gateway goes. `hooks` are for tests: they make the child crash when a block asks for it.
pub(crate) fn serve(mut channel: Channel, hooks: bool) {
    // Loads what the engine would otherwise look for once nothing can be opened any more.
    warm_up();
    channel.seclude();
    let channel = Rc::new(RefCell::new(channel));
    loop {
        let told = channel.borrow_mut().receive(None);
        // What answers a call of an earlier block comes too late.
        let Some(Incoming::Block { id, body }) = told else { continue };
        let ended = match serde_json::from_str::<Program>(&body) {
            Ok(program) => run(&channel, &id, &program, hooks),
            Err(error) => Ended::Threw(format!("the block could not be read: {error}")),
        };
        tell(&channel, &id, &ended);
    }
}

fn tell(channel: &RefCell<Channel>, id: &str, ended: &Ended) {
    let text = protocol::frame::to_json(ended);
    if !channel.borrow_mut().done(id, &text) {
        let too_large = Ended::Threw("The result is larger than a block may return".to_string());
        channel.borrow_mut().done(id, &protocol::frame::to_json(&too_large));
    }
}

fn run(channel: &Rc<RefCell<Channel>>, id: &str, program: &Program, hooks: bool) -> Ended {
    let code = source::clean(&program.code);
    match World::new(channel.clone(), id, program, hooks) {
        Ok(world) => world.run(&code),
        Err(error) => Ended::Threw(format!("the engine could not be started: {error}")),
    }
}

fn warm_up() {
    let runtime = rquickjs::Runtime::new();
    let context = runtime.and_then(|runtime| rquickjs::Context::full(&runtime));
    if let Ok(context) = context {
        let warm = "new Date(0).getTimezoneOffset() + new Date().toLocaleString().length + Math.random() + 'é'.normalize().length";
        // Whatever it says, it was looked at.
        drop(context.with(|ctx| ctx.eval::<f64, _>(warm)));
    }
    drop(typescript::erase("(async () => { const x: number = 1 })"));
    drop(url::Url::parse("https://bücher.example/ä?b#c"));
    drop(base::random::uuid());
}
