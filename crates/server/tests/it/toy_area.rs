//! Toy subsystem, plugged in as a new area would be: its calls, HTTP route, alarm, metrics, settings, what becomes of
//! its things when a user goes, and a service that it asks.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::sync::lock;
use base::timer::Alarm;
use gateway::{Call, Gateway as Handle, Gauges, Gone, Later, Subsystem};
use protocol::adapter::{StateUpdate, Updated};
use protocol::error::Error;
use protocol::ids::Uid;
use protocol::literal::True;
use protocol::notification::{Create, Created, Level, List, Listed, Notification, Source};
use protocol::router::Router;
use protocol::signal::change::NotificationCreated;
use serde_json::{Value, json};
use testkit::gateway::Gateway;

/// Notes in memory. A service that has shown itself is asked for a word about each.
struct Toy {
    gateway: Handle,
    notes: Mutex<BTreeMap<Uid, Vec<Notification>>>,
    /// The socket of the service, 0 for none.
    service: AtomicU64,
    ticks: Arc<AtomicUsize>,
    alarm: Arc<Alarm>,
    name: Mutex<String>,
}

type Cx = gateway::Cx<Toy>;

impl Toy {
    fn plug_in(gateway: &Handle) -> Arc<dyn Subsystem> {
        let ticks = Arc::new(AtomicUsize::new(0));
        let counted = ticks.clone();
        let alarm = Alarm::every("toy", gateway.clock().clone(), Duration::from_millis(1), move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        Arc::new(Toy {
            gateway: gateway.clone(),
            notes: Mutex::default(),
            service: AtomicU64::new(0),
            ticks,
            alarm,
            name: Mutex::default(),
        })
    }
}

fn router() -> Router<Cx> {
    Router::new().on(create).on(list).on(meet)
}

async fn create(cx: Cx, args: Create) -> Result<Created, Error> {
    let (area, caller) = (&cx.area, &cx.caller);
    let body = match area.service.load(Ordering::Relaxed) {
        0 => None,
        socket => {
            let asked = json!({ "text": args.title }).to_string();
            let answer: Value =
                serde_json::from_str(&area.gateway.ask_service(socket, "adapter.send", &asked).await?)
                    .unwrap();
            answer["word"].as_str().map(str::to_string)
        }
    };
    let notification = Notification {
        notification_id: area.gateway.random().uuid(),
        title: args.title,
        body,
        level: args.level.unwrap_or(Level::Info),
        created_at: area.gateway.now_ms(),
        read_at: None,
        dismissed_at: None,
        expires_at: None,
        actions: Vec::new(),
        source: Source::User,
    };
    lock(&area.notes).entry(caller.uid()).or_default().push(notification.clone());
    area.gateway.signal(caller.uid(), None, &NotificationCreated { notification: notification.clone() });
    Ok(Created { notification })
}

async fn list(cx: Cx, _: List) -> Result<Listed, Error> {
    let notes = lock(&cx.area.notes).get(&cx.caller.uid()).cloned();
    Ok(Listed { notifications: notes.unwrap_or_default() })
}

/// A service shows itself.
async fn meet(cx: Cx, _: StateUpdate) -> Result<Updated, Error> {
    let socket = cx.caller.origin.connection().map_or(0, |peer| peer.number());
    cx.area.service.store(socket, Ordering::Relaxed);
    Ok(Updated { ok: True })
}

impl Subsystem for Toy {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn calls() -> Vec<&'static str> {
        router().names().to_vec()
    }

    fn handlers(self: Arc<Self>) -> Router<Call> {
        router().over(move |call| Ok(Cx::new(self.clone(), call)))
    }

    fn http(self: Arc<Self>) -> Option<axum::Router> {
        let count =
            move || async move { lock(&self.notes).values().map(Vec::len).sum::<usize>().to_string() };
        Some(axum::Router::new().route("/toy/count", axum::routing::get(count)))
    }

    fn alarms(&self) -> Vec<Arc<Alarm>> {
        vec![self.alarm.clone()]
    }

    fn gone(self: Arc<Self>, gone: Gone) -> Later<()> {
        if let Gone::User(uid) = gone {
            lock(&self.notes).remove(&uid);
        }
        Box::pin(async {})
    }

    fn metrics(&self, gauges: &mut Gauges) {
        gauges.gauge("toy_ticks", "How often the alarm went off.", self.ticks.load(Ordering::Relaxed));
        let name = lock(&self.name).clone();
        gauges.gauge("toy_named", "Whether the gateway was given a name.", usize::from(name == "home"));
    }

    fn config_changed(&self, key: &str, value: Option<&str>) {
        if key == protocol::config::SERVER_NAME.name() {
            *lock(&self.name) = value.unwrap_or_default().to_string();
        }
    }
}

async fn get(gateway: &Gateway, path: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut socket = tokio::net::TcpStream::connect(gateway.address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", gateway.address);
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).await.unwrap();
    text
}

#[tokio::test]
async fn an_area_is_plugged_in_by_one_line() {
    let gateway = Gateway::set_up_with(Toy::plug_in).await;
    let mut root = gateway.root().await;
    let mut ann = gateway.add_user("ann").await;
    let made = ann.call("notification.create", json!({ "title": "tea" })).await.unwrap();
    assert_eq!(made["notification"]["title"], "tea");
    let told = ann.signal("notification.created").await;
    assert_eq!(told["notification"]["title"], "tea");
    let own = ann.call("notification.list", json!({})).await.unwrap();
    assert_eq!(own["notifications"].as_array().unwrap().len(), 1);
    let others = root.call("notification.list", json!({})).await.unwrap();
    assert_eq!(others["notifications"], json!([]));
    assert!(get(&gateway, "/toy/count").await.ends_with("\r\n\r\n1"));
    root.call("sys.config.set", json!({ "key": "config/server/name", "value": "home" })).await.unwrap();
    let metrics = async || get(&gateway, "/metrics").await;
    while !metrics().await.lines().any(|line| line.starts_with("toy_ticks ") && line != "toy_ticks 0") {
        tokio::task::yield_now().await;
    }
    assert!(metrics().await.contains("\ntoy_named 1\n"));
    root.call("sys.user.remove", json!({ "username": "ann" })).await.unwrap();
    assert!(get(&gateway, "/toy/count").await.ends_with("\r\n\r\n0"), "her notes went with her");
    gateway.stop().await;
}

#[tokio::test]
async fn a_service_is_asked_as_a_device_is() {
    let gateway = Gateway::set_up_with(Toy::plug_in).await;
    let mut root = gateway.root().await;
    let token = root.call("sys.token.create", json!({ "kind": "service", "label": "chat" })).await.unwrap();
    let token = token["token"]["token"].as_str().unwrap().to_string();
    let mut service = gateway.peer().await;
    let more = json!({ "auth": { "username": "root", "token": token }, "channel": "toy" });
    service.connect("service", "toy-1", more).await.unwrap();
    let status = json!({ "connected": true, "authenticated": true, "accountId": "a" });
    let update = json!({ "adapter": "toy", "accountId": "a", "status": status });
    service.call("adapter.state.update", update).await.unwrap();
    let asking =
        tokio::spawn(async move { root.call("notification.create", json!({ "title": "tea" })).await });
    let request = service.request().await;
    assert_eq!((&request["call"], &request["args"]), (&json!("adapter.send"), &json!({ "text": "tea" })));
    service.reply(&request, json!({ "word": "with milk" })).await;
    let made = asking.await.unwrap().unwrap();
    assert_eq!(made["notification"]["body"], "with milk");
    let mut root = gateway.root().await;
    let asking =
        tokio::spawn(async move { root.call("notification.create", json!({ "title": "tea" })).await });
    service.request().await;
    service.close().await;
    let refused = asking.await.unwrap().unwrap_err();
    assert_eq!(refused.code, 503, "its socket is gone, and nobody else can answer: {refused:?}");
}
