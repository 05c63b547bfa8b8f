//! Simulation on a virtual clock with a seed: a week of expiries of a whole gateway, in as long as its timers take to
//! run.

use base::random::Random;
use base::shutdown;
use protocol::ids::{RunId, SessionId, Uid};
use protocol::shell::Status;
use store::messages::Page;
use store::runs::RunStatus;
use store::sessions::ShellSession;
use testkit::fake_model::{Chunk, Reply, Server, Turn, chat_reply};

use super::*;
use crate::Setting;
use crate::outbox::Close;

const START_MS: i64 = 1_700_000_000_000;
const DAY: Duration = Duration::from_secs(24 * 3_600);
/// What the model never answers.
const RIDDLE: &str = "Say nothing for ever";

async fn gateway(data: &tempfile::TempDir, clock: &Clock) -> Arc<Kernel> {
    let options = store::Options { data: data.path().to_path_buf(), url: None };
    let setting = Setting {
        guest_program: None,
        store: Store::open(&options).await.unwrap(),
        files: &data.path().join("files"),
        clock: clock.clone(),
        random: Random::seeded(7),
        version: "test",
        more: Vec::new(),
    };
    Kernel::start_in(setting).await.unwrap()
}

async fn model_of(kernel: &Kernel, uid: Uid) -> Server {
    let replies = |request: &testkit::fake_model::Received| match request.json().to_string().contains(RIDDLE)
    {
        true => Reply::events("", 1).then(Chunk::Hang),
        false => chat_reply(&Turn::text("Done.")),
    };
    let server = Server::start(replies).await.unwrap();
    for (key, value) in
        [("provider", "openai-chat"), ("base_url", &server.base_url()[..]), ("model", "test-model")]
    {
        kernel.store.config().set(&format!("users/{uid}/ai/{key}"), value).await.unwrap();
    }
    server
}

/// As `server` does it: a socket that is to be closed is gone a moment later. When that was, and why.
fn serve(kernel: &Arc<Kernel>, socket: &Arc<Connection>) -> tokio::task::JoinHandle<(u64, Close)> {
    let (kernel, socket) = (kernel.clone(), socket.clone());
    tokio::spawn(async move {
        loop {
            kernel.clock.sleep(Duration::from_secs(1)).await;
            if let Some(why) = socket.outbox.closing() {
                kernel.closed(&socket);
                return (kernel.clock.elapsed().as_secs(), why);
            }
        }
    })
}

async fn call(kernel: &Arc<Kernel>, caller: &Caller, name: &str, args: Value) -> Value {
    let answer = kernel.call(caller.clone(), "1", name, &args.to_string()).await.unwrap();
    serde_json::from_str(&answer).unwrap()
}

/// Lets the machine work, in its own time, until something is so: models and disks know no virtual clock.
async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..20_000 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("never: {what}");
}

async fn ended(kernel: &Kernel, run_id: &Value) {
    let run_id = RunId(run_id.as_str().unwrap().to_string());
    until("the run ends", async || {
        let run = kernel.store.runs().by_id(&run_id).await.unwrap();
        run.is_some_and(|run| run.status != RunStatus::Active)
    })
    .await;
}

fn awake(kernel: &Kernel) -> usize {
    let metrics = kernel.metrics();
    let line = metrics.lines().find_map(|line| line.strip_prefix("gsv_processes_awake "));
    line.unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_week_of_expiries_passes_at_once() {
    let (data, clock) = (tempfile::tempdir().unwrap(), Clock::manual(START_MS));
    let kernel = gateway(&data, &clock).await;
    let (stop, stopping) = shutdown::channel();
    let timers = tokio::spawn(kernel.clone().run_timers(stopping));

    let driver = serve(&kernel, &with_driver(&kernel).await);
    let stranger = serve(&kernel, &kernel.opened(IpAddr::V4(Ipv4Addr::LOCALHOST)));
    assert_eq!((kernel.socket_count(), kernel.devices.counts().1), (2, 1));

    let process = process(&kernel).await;
    let person = Caller { origin: Origin::Inside, ..process.clone() };
    let init = process.origin.pid().unwrap().clone();
    let model = model_of(&kernel, person.uid()).await;
    let sent = call(&kernel, &person, "proc.send", json!({ "message": "Hello" })).await;
    ended(&kernel, &sent["runId"]).await;

    let helper = call(&kernel, &person, "proc.spawn", json!({ "profile": "task" })).await["pid"].clone();
    let asked = json!({ "pid": helper, "message": RIDDLE, "timeoutMs": 60_000 });
    let asked = call(&kernel, &process, "proc.ipc.call", asked).await;
    assert_eq!(asked["status"], "started", "{asked}");
    assert_eq!(kernel.store.ipc().next_deadline().await.unwrap(), Some(START_MS + 60_000));
    let riddled = || model.received().iter().any(|request| request.json().to_string().contains(RIDDLE));
    until("the helper asks its model", async || riddled()).await;
    assert_eq!(awake(&kernel), 2);

    let session = ShellSession {
        session_id: SessionId::from("sh_1"),
        uid: person.uid(),
        pid: None,
        way: None,
        device_id: "desk".into(),
        device_session_id: "1".to_string(),
        status: Status::Running,
        exit_code: None,
        error: None,
        created_at: START_MS,
        updated_at: START_MS,
        expires_at: START_MS + limits::route::SHELL_SESSION_MS,
    };
    kernel.store.sessions().create(session).await.unwrap();

    // Whoever waited for the helper is told after a minute, and works on that in the machine's time.
    clock.pass(Duration::from_secs(61)).await;
    until("the call between processes is over", async || {
        kernel.store.ipc().next_deadline().await.unwrap().is_none()
            && kernel.store.runs().active(&init).await.unwrap().is_none()
    })
    .await;
    let said = kernel.store.messages().page(&init, &"default".into(), Page::Offset(0), 100).await.unwrap();
    assert!(said.iter().any(|row| row.content.contains("timed out")), "{said:?}");
    clock.pass(7 * DAY).await;

    let (closed_at, why) = driver.await.unwrap();
    assert_eq!(why, Close::SILENT);
    assert!((100..=135).contains(&closed_at), "{closed_at}");
    let (closed_at, why) = stranger.await.unwrap();
    assert_eq!(why, Close::IDLE);
    assert!((30..=35).contains(&closed_at), "{closed_at}");
    assert_eq!((kernel.socket_count(), kernel.devices.counts().1), (0, 0));
    let run = RunId(asked["runId"].as_str().unwrap().to_string());
    let run = kernel.store.runs().by_id(&run).await.unwrap().unwrap();
    assert_eq!(run.status, RunStatus::Error, "the helper thought for longer than it may");
    until("old rows are removed", async || kernel.store.sessions().of(None, 0).await.unwrap().is_empty())
        .await;
    until("every process is asleep", async || awake(&kernel) == 0).await;
    stop.stop();
    timers.await.unwrap();
}
