//! `curl`: HTTP from within the shell, and the only way of the native shell to the network. Addresses are checked by the
//! SSRF guard of `outgoing`.

mod order;
mod report;
mod transfer;

use outgoing::{Client, Settings};
use vfs::view::Writing;

use super::masks::writing;
use super::options::Options;
use super::{Command, Cx, Done, words};
use crate::builtin_io::Io;
use order::Order;
use transfer::Fetched;

pub(super) static COMMAND: Command = Command {
    name: "curl",
    aliases: &[],
    about: "transfer data over HTTP",
    usage: "[OPTIONS] URL...",
    manual: "\
  -s quiet  -S but show errors  -f fail on HTTP errors  -L follow redirects  -i also print headers  -I headers only
  -o FILE  -O name from the URL  -D FILE headers  -w FORMAT print afterwards, such as '%{http_code}\\n'
  -X METHOD  -H 'Name: value'  -A AGENT  -e REFERER  -b COOKIES  -u USER:PASSWORD  -r RANGE
  -d DATA  --data-raw --data-binary --data-urlencode --json DATA  -G data in the URL  -T FILE upload
     @FILE reads the data from a file, @- from stdin
  -m SECONDS  --connect-timeout SECONDS  --max-redirs N  -4 -6  -v
Only http and https. Loopback, private and link-local addresses are refused unless root sets
config/shell/network_private; config/shell/network_enabled turns the network off.
Certificates are always checked, so -k is refused; -F and proxies are not supported.",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

async fn run(cx: &Cx<'_>) -> Done {
    match Options::parse(cx, &COMMAND, order::KNOWN, 2) {
        Ok(options) => perform(cx, &options, |usual| usual).await,
        Err(done) => done,
    }
}

/// Why it did not work.
#[derive(Debug)]
struct Trouble {
    /// The exit code that curl gives it.
    code: i32,
    why: String,
    /// Whether it is said even with `-s`: what the gateway refuses is not for the other end to explain.
    refusal: bool,
}

impl Trouble {
    fn new(code: i32, why: impl Into<String>) -> Trouble {
        Trouble { code, why: why.into(), refusal: false }
    }

    fn refusal(code: i32, why: impl Into<String>) -> Trouble {
        Trouble { code, why: why.into(), refusal: true }
    }
}

/// Carries out what was asked for, URL by URL. `change` may change how connections are made, for tests.
async fn perform(cx: &Cx<'_>, options: &Options, change: impl FnOnce(Settings) -> Settings) -> Done {
    if !cx.settings.network {
        return Done::failed(cx.name, "network access is disabled (config/shell/network_enabled)", 7);
    }
    let mut done = Done::default();
    let order = match Order::read(cx, options).await {
        Ok(order) => order,
        Err(trouble) => return Done::failed(cx.name, trouble.why, trouble.code),
    };
    let client = Client::new(change(transfer::settings(cx.settings.network_private, &order)));
    for (at, url) in order.urls.iter().enumerate() {
        let started = cx.clock.instant();
        let fetched = transfer::fetch(&client, &order, url).await;
        let (fetched, trouble) = match fetched {
            Ok(fetched) => {
                let delivered = deliver(cx, &order, at, &fetched, &mut done).await;
                (Some(fetched), delivered.err())
            }
            Err(trouble) => (None, Some(trouble)),
        };
        done.code = 0;
        if let Some(trouble) = &trouble {
            if trouble.refusal || !order.silent || order.show_errors {
                done.stderr.extend(format!("{}: ({}) {}\n", cx.name, trouble.code, trouble.why).into_bytes());
            }
            done.code = trouble.code;
        }
        if done.is_full() {
            done.code = 23;
            break;
        }
        if let Some(pattern) = &order.write_out {
            done.print(report::written(
                pattern,
                fetched.as_ref(),
                trouble.as_ref(),
                cx.clock.instant().saturating_duration_since(started),
            ));
        }
    }
    done
}

/// Puts an answer where it belongs.
async fn deliver(
    cx: &Cx<'_>,
    order: &Order,
    at: usize,
    fetched: &Fetched,
    done: &mut Done,
) -> Result<(), Trouble> {
    done.stderr.extend_from_slice(&fetched.log);
    if let Some(file) = &order.dump_header {
        write(cx, file, fetched.heads.clone(), order).await?;
    }
    let failed = fetched.status() >= 400 && (order.fail || order.fail_with_body);
    let mut bytes = Vec::new();
    if order.include || order.head {
        bytes.extend_from_slice(&fetched.heads);
    }
    if !failed || order.fail_with_body {
        bytes.extend_from_slice(&fetched.body);
    }
    match order.output(at, &fetched.first_url)? {
        Some(_) if failed && !order.fail_with_body => {}
        Some(file) if file != "-" => write(cx, &file, bytes, order).await?,
        _ => done.print(bytes),
    }
    if failed {
        let why = format!("The requested URL returned error: {}", fetched.status());
        return Err(Trouble::new(22, why));
    }
    Ok(())
}

async fn write(cx: &Cx<'_>, file: &str, bytes: Vec<u8>, order: &Order) -> Result<(), Trouble> {
    let how = Writing { parents: order.create_dirs, ..writing(cx) };
    let written = match cx.view.path(file) {
        Ok(path) => cx.view.write(&path, bytes, how).await.map(|_| ()),
        Err(fault) => Err(fault),
    };
    written.map_err(|fault| Trouble::refusal(23, format!("Failed to write {file}: {}", words(&fault))))
}

/// Fetches one URL into a file or to the output, for `wget`.
pub(super) async fn fetch_to(cx: &Cx<'_>, url: &str, output: &str, agent: Option<&str>) -> Done {
    let mut args: Vec<String> =
        ["--fail", "--location", "--silent", "--show-error", "--output", output].map(str::to_string).to_vec();
    args.extend(agent.map(|agent| format!("--user-agent={agent}")));
    args.extend(["--url".to_string(), url.to_string()]);
    let cx = &Cx { args: &args, ..*cx };
    run(cx).await
}

#[cfg(test)]
mod tests;
