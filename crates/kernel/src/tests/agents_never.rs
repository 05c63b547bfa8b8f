//! What no policy can allow an agent: every call and every other door to the same effect, tried by an agent of root's,
//! who may do everything.

use std::collections::BTreeSet;
use std::sync::Arc;

use protocol::spec::{Access, By, Effect};
use serde_json::{Value, json};

use super::{Caller, Kernel, Origin, Pid, Role, kernel, with_driver};

/// Calls for people, never for their agents.
const PEOPLE: &str = "proc.approvals.revoke proc.setidentity sys.connect sys.setup sys.setup.assist sys.bootstrap \
    sys.token.create sys.token.list sys.token.revoke sys.user.list sys.user.remove sys.group.list sys.group.create \
    sys.group.remove sys.capability.list sys.capability.grant sys.capability.revoke sys.device.access sys.unlink \
    sys.link.list sys.mcp.add sys.mcp.remove sys.mcp.refresh sys.oauth.start sys.oauth.list sys.oauth.forget \
    sys.oauth.refresh fs.undo proc.undo \
    adapter.connect adapter.disconnect pkg.add pkg.sync pkg.checkout pkg.install pkg.review.approve pkg.remove \
    pkg.remote.add pkg.remote.remove pkg.public.set";

/// Those that only logins make which may answer approvals: they answer, or lead to a login that may.
const APPROVERS: &str = "proc.hil sys.user.create sys.user.update sys.link sys.link.consume";

/// Calls that change how the gateway works and are for agents too. The first is decided by its key.
const AGENTS_TOO: &str = "sys.config.set sys.device.update";

#[test]
fn every_call_that_changes_the_rules_is_decided_on() {
    let names = |of: &'static str| of.split_whitespace().collect::<BTreeSet<_>>();
    let by = |wanted: By| -> BTreeSet<&str> {
        protocol::calls().filter(|spec| spec.by == wanted).map(|spec| spec.name).collect()
    };
    assert_eq!(by(By::Person), names(PEOPLE));
    assert_eq!(by(By::Approver), names(APPROVERS));
    let open =
        protocol::calls().filter(|spec| spec.effects.contains(&Effect::Rules) && spec.by == By::Anybody);
    assert_eq!(open.map(|spec| spec.name).collect::<BTreeSet<_>>(), names(AGENTS_TOO));
}

async fn caller(kernel: &Kernel, name: &str, origin: Origin) -> Caller {
    let account = kernel.store.accounts().by_name(name).await.unwrap().unwrap();
    Caller {
        identity: Arc::new(account.identity()),
        role: Role::User,
        capabilities: kernel.grants.of(&account.gids),
        as_of: kernel.gateway.standing_generation(),
        may_approve: !origin.is_program(),
        permit: None,
        door: None,
        origin,
    }
}

const KEY: &str = "sk-secret-of-the-model";
const POLICY: &str = r#"{"default":"ask"}"#;

/// A gateway with a key and a policy, an agent of root's and root.
async fn world(data: &tempfile::TempDir) -> (Arc<Kernel>, Caller, Caller) {
    let kernel = kernel(data).await;
    drop(with_driver(&kernel).await);
    for (key, value) in [
        ("config/ai/api_key", KEY),
        ("config/ai/base_url", "https://model.example/v1"),
        ("config/ai/tools/approval", POLICY),
        ("users/1000/ai/api_key", KEY),
        ("users/1000/ai/tools/approval", POLICY),
    ] {
        kernel.store.config().set(key, value).await.unwrap();
    }
    let agent = caller(&kernel, "root", Origin::Process(Pid::from("init:0"))).await;
    let root = caller(&kernel, "root", Origin::Inside).await;
    (kernel, agent, root)
}

async fn call(
    kernel: &Arc<Kernel>,
    caller: &Caller,
    name: &str,
    args: &Value,
) -> Result<String, (i32, String)> {
    let called = kernel.call(caller.clone(), "1", name, &args.to_string()).await;
    called.map_err(|error| (error.code, error.message))
}

/// Everything that decides who may do what.
async fn rules(kernel: &Kernel) -> String {
    let store = &kernel.store;
    let tokens: Vec<_> =
        store.tokens().of(None).await.unwrap().into_iter().map(|token| token.token_id).collect();
    format!(
        "{:?}\n{:?}\n{:?}\n{:?}\n{tokens:?}\n{}",
        store.config().matching("", |_| true).await.unwrap(),
        store.accounts().all().await.unwrap(),
        store.groups().all().await.unwrap(),
        store.grants().all().await.unwrap(),
        store.processes().of(None).await.unwrap().len(),
    )
}

#[tokio::test]
async fn an_agent_of_roots_makes_none_of_the_calls_that_are_for_people() {
    let data = tempfile::tempdir().unwrap();
    let (kernel, agent, root) = world(&data).await;
    let before = rules(&kernel).await;
    let closed = protocol::calls().filter(|spec| spec.by != By::Anybody && spec.access != Access::Kernel);
    for spec in closed {
        let refused = call(&kernel, &agent, spec.name, &json!({})).await.unwrap_err();
        let why = format!("Permission denied: {} is for people, an agent can never do it", spec.name);
        assert_eq!(refused, (403, why));
    }
    assert_eq!(rules(&kernel).await, before);
    let borrowed = Caller { may_approve: false, ..root.clone() };
    for name in APPROVERS.split_whitespace() {
        let (code, why) = call(&kernel, &borrowed, name, &json!({})).await.unwrap_err();
        assert!(code == 403 && why.contains(name) && why.contains("--approve"), "{why}");
    }
    assert!(call(&kernel, &borrowed, "sys.user.list", &json!({})).await.is_ok());
}

#[tokio::test]
async fn an_agent_sets_only_the_keys_that_are_for_agents() {
    let data = tempfile::tempdir().unwrap();
    let (kernel, agent, root) = world(&data).await;
    let set = |key: &str, value: &str| json!({ "key": key, "value": value });
    for key in [
        "config/ai/provider",
        "config/ai/api_key",
        "config/ai/base_url",
        "config/ai/speech/base_url",
        "config/ai/transcription/api_key",
        "config/ai/private_endpoints",
        "config/ai/tools/approval",
        "config/ai/profile/task/tools/approval",
        "config/ai/context.d/00-gsv.md",
        "config/shell/network_private",
        "config/process/max_turns",
        "config/agents/network",
        "config/no/such/key",
        "users/1000/ai/api_key",
        "users/1000/ai/tools/approval",
    ] {
        for value in [json!("x"), Value::Null] {
            let (code, why) = call(&kernel, &agent, "sys.config.set", &json!({ "key": key, "value": value }))
                .await
                .unwrap_err();
            assert!(code == 403 && why.contains(&format!("{key} is for people")), "{why}");
        }
    }
    call(&kernel, &agent, "sys.config.set", &set("config/ai/model", "m")).await.unwrap();
    let borrowed = Caller { may_approve: false, ..root.clone() };
    for key in ["config/ai/tools/approval", "users/1000/ai/tools/approval"] {
        let (code, why) = call(&kernel, &borrowed, "sys.config.set", &set(key, "{}")).await.unwrap_err();
        assert!(code == 403 && why.contains("--approve"), "{why}");
        call(&kernel, &root, "sys.config.set", &set(key, "{}")).await.unwrap();
    }
    call(&kernel, &borrowed, "sys.config.set", &set("config/ai/base_url", "https://b.example"))
        .await
        .unwrap();
}

/// Of a password that nobody has here.
const HASH: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$Z3N2LW5vYm9keS1zYWx0$3pYTSnlJbWzMZ5t1ZGW6yLnmWHjXN4zg5m4bL4C3Qj4";

/// Other doors to what is for people: calls that do it in the course of something else.
fn doors() -> Vec<(&'static str, Value)> {
    let write = |path: &str, content: &str| ("fs.write", json!({ "path": path, "content": content }));
    let shell = |input: &str| ("shell.exec", json!({ "input": input }));
    vec![
        write("/sys/config/ai/base_url", "https://evil.example"),
        write("/sys/config/ai/tools/approval", r#"{"default":"auto"}"#),
        write("/sys/users/1000/ai/tools/approval", r#"{"default":"auto"}"#),
        write("/sys/users/1000/ai/api_key", "sk-evil"),
        write("/sys/capabilities/100", "*\n"),
        write("/etc/passwd", "evil:x:::::\n"),
        write("/etc/group", "evil:x::\n"),
        write("/etc/shadow", &format!("root:{HASH}:0::::::\nann:{HASH}:0::::::\n")),
        write("/proc/init:0/identity", "{}"),
        ("fs.delete", json!({ "path": "/sys/config/ai/tools/approval" })),
        ("fs.edit", json!({ "path": "/sys/config/ai/base_url", "oldString": "model", "newString": "evil" })),
        ("fs.push", json!({ "path": "/sys/config/ai/base_url", "size": 1 })),
        shell("echo https://evil.example > /sys/config/ai/base_url"),
        shell("echo x | tee /sys/users/1000/ai/api_key"),
        shell("ln -s /sys/config/ai /tmp/link && echo x > /tmp/link/base_url"),
        shell("cp /etc/hostname /sys/config/ai/base_url; mv /sys/config/ai/base_url /tmp/x"),
        shell("rm /sys/config/ai/tools/approval"),
        shell("sed -i 's/^ann:/evil:/' /etc/passwd"),
        shell("config set config/ai/base_url https://evil.example"),
        shell("config unset config/ai/tools/approval"),
        shell("gsv config set users/1000/ai/tools/approval '{}'"),
        shell("gsv call sys.token.create --kind user"),
        shell("gsv call sys.user.create --args '{\"username\":\"evil\",\"password\":\"evil-evil\"}'"),
        shell("gsv call sys.capability.grant --args '{\"gid\":100,\"capability\":\"*\"}'"),
        shell("gsv call proc.hil --request-id r --decision approve"),
        shell("bash -c 'proc spawn --profile cron go'"),
        shell("proc spawn --profile cron go"),
        ("proc.spawn", json!({ "profile": "cron" })),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn no_other_door_leads_an_agent_to_what_is_for_people() {
    let data = tempfile::tempdir().unwrap();
    let (kernel, agent, _) = world(&data).await;
    let before = rules(&kernel).await;
    for (name, args) in doors() {
        let answer = match call(&kernel, &agent, name, &args).await {
            Err((code, why)) => {
                assert!((400..500).contains(&code), "{name} {args}: {code} {why}");
                why
            }
            Ok(answer) => answer,
        };
        assert_eq!(rules(&kernel).await, before, "{name} {args} answered {answer}");
        assert!(!answer.contains(r#""exitCode":0"#), "{name} {args} answered {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_reads_no_secret_and_people_do() {
    let data = tempfile::tempdir().unwrap();
    let (kernel, agent, root) = world(&data).await;
    let read = |path: &str| ("fs.read", json!({ "path": path }));
    let shell = |input: &str| ("shell.exec", json!({ "input": input }));
    let reads = [
        ("sys.config.get", json!({ "key": "config/ai/api_key" })),
        ("sys.config.get", json!({ "key": "users/1000" })),
        ("sys.config.get", json!({})),
        read("/sys/config/ai/api_key"),
        read("/sys/users/1000/ai/api_key"),
        read("/etc/shadow"),
        ("fs.search", json!({ "path": "/sys/config", "query": "secret-of" })),
        ("fs.search", json!({ "path": "/etc", "query": "argon2" })),
        shell("cat /etc/shadow /sys/config/ai/api_key"),
        shell("config get"),
        shell("gsv call sys.config.get --key config/ai/api_key"),
        shell("cp /etc/shadow /tmp/s; cp /sys/config/ai/api_key /tmp/k; cat /tmp/s /tmp/k"),
        shell("ln -s /etc/shadow /tmp/l; cat /tmp/l; tar c /etc/shadow"),
        shell("grep -r . /sys/config/ai"),
    ];
    let is_told = |answer: &str| answer.contains(KEY) || answer.contains("argon2id");
    for (name, args) in &reads {
        let answer = call(&kernel, &agent, name, args).await.unwrap_or_else(|(_, why)| why);
        assert!(!is_told(&answer), "{name} {args} answered {answer}");
    }
    for (name, args) in [&reads[0], &reads[2], &reads[3], &reads[5], &reads[8], &reads[9]] {
        let answer = call(&kernel, &root, name, args).await.unwrap();
        assert!(is_told(&answer), "{name} {args} answered {answer}");
    }
    let masked = call(&kernel, &agent, "sys.config.get", &reads[0].1).await.unwrap();
    assert!(masked.contains(protocol::config::MASKED), "that there is one is told: {masked}");
    let size = json!({ "input": "wc -c < /sys/config/ai/api_key" });
    let size: Value =
        serde_json::from_str(&call(&kernel, &agent, "shell.exec", &size).await.unwrap()).unwrap();
    let masked_bytes = (protocol::config::MASKED.len() + 1).to_string();
    assert_eq!(size["output"].as_str().map(str::trim), Some(&masked_bytes[..]), "nor how long it is");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_types_nothing_into_what_a_person_runs() {
    let data = tempfile::tempdir().unwrap();
    let (kernel, agent, root) = world(&data).await;
    let start =
        json!({ "input": "while read line; do eval \"$line\"; done", "yieldMs": 0, "background": true });
    let session = async |caller: &Caller| -> Value {
        let answer = call(&kernel, caller, "shell.exec", &start).await.unwrap();
        serde_json::from_str::<Value>(&answer).unwrap()["sessionId"].clone()
    };
    let type_into =
        |id: &Value| json!({ "sessionId": id, "input": "gsv call sys.token.create --kind user\n" });
    let (persons, own) = (session(&root).await, session(&agent).await);
    let other = Caller { origin: Origin::Process(Pid::from("p2")), ..agent.clone() };
    for (who, id) in [(&agent, &persons), (&other, &own)] {
        let (code, why) = call(&kernel, who, "shell.exec", &type_into(id)).await.unwrap_err();
        assert!(code == 404 && why.contains(id.as_str().unwrap()), "{why}");
    }
    let tokens = kernel.store.tokens().of(None).await.unwrap().len();
    assert!(call(&kernel, &agent, "shell.exec", &type_into(&own)).await.is_ok());
    assert!(
        call(&kernel, &root, "shell.exec", &json!({ "sessionId": own, "input": "exit\n" })).await.is_ok()
    );
    assert_eq!(kernel.store.tokens().of(None).await.unwrap().len(), tokens);
    assert!(
        call(&kernel, &root, "shell.exec", &json!({ "sessionId": persons, "input": "exit\n" })).await.is_ok()
    );
}
