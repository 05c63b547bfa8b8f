//! A program whose guests do what the gateway must withstand; the body of a block says what.

use std::time::Duration;

use guest::{Channel, Incoming, Kind, run_if_guest};

fn main() {
    run_if_guest(&[Kind { name: "hostile", serve }]);
}

fn serve(mut channel: Channel) {
    channel.seclude();
    let mut blocks = 0;
    loop {
        let Some(Incoming::Block { id, body }) = channel.receive(None) else { continue };
        blocks += 1;
        play(&mut channel, &id, body.trim_matches('"'), blocks);
    }
}

fn play(channel: &mut Channel, id: &str, what: &str, blocks: u32) {
    match what {
        "count" => drop(channel.done(id, &blocks.to_string())),
        "call" => {
            channel.call(id, 7, "fs.read", r#"{"path":"x"}"#);
            let answer = answer(channel);
            channel.done(id, &answer);
        }
        "forbidden" => {
            channel.call(id, 1, "sys.token.create", "{}");
            let answer = answer(channel);
            channel.done(id, &answer);
        }
        "unfinished" => {
            channel.call(id, 1, "fs.read", "{}");
            channel.done(id, "1");
        }
        "other block" => drop(channel.call("another", 1, "fs.read", "{}")),
        "ready again" => channel.seclude(),
        "calls" => loop {
            channel.call(id, 1, "fs.read", "{}");
        },
        "logs" => loop {
            channel.log(id, "again and again");
        },
        "bytes" => loop {
            channel.call(id, 1, "fs.read", &format!("\"{}\"", "x".repeat(8 * 1024 * 1024)));
        },
        "exit" => std::process::exit(3),
        "file" => drop(std::fs::read("/etc/passwd")),
        "processor" => loop {
            std::hint::spin_loop();
        },
        _ => drop(channel.receive(Some(Duration::from_secs(3600)))),
    }
}

fn answer(channel: &mut Channel) -> String {
    match channel.receive(None) {
        Some(Incoming::Answer(answer)) => match answer.result {
            Ok(data) => data,
            Err(why) => format!("{why:?}"),
        },
        _ => "null".to_string(),
    }
}
