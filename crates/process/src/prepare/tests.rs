//! Tests of run setups made from config, environment and files.

use base::clock::Clock;
use model::fake::{Reply, Server, Turn, chat_reply};
use model::{Cancel, Client, Message, PrivateHosts, ProviderKind, Request, StopReason};
use protocol::ids::Uid;
use serde_json::json;

use super::*;
use crate::discovery::ModelDiscovery;
use crate::fixture::Fixture;

const KEY: &str = "sk-very-secret-0123456789";
const EVERYBODYS_KEY: &str = "sk-everybodys-9876543210";

type Rows<'a> = &'a [(&'a str, &'a str)];

fn discovery(environment: Rows<'static>) -> ModelDiscovery {
    let clock = Clock::manual(0);
    let client = Client::new(clock.clone(), PrivateHosts::Allow);
    ModelDiscovery::with_environment(clock, client, move |name| {
        // Nothing listens there, so that no server of this machine is found.
        let nobody = ("OLLAMA_HOST", "http://127.0.0.1:1");
        let mut all = environment.iter().chain([&nobody]);
        all.find(|(key, _)| *key == name).map(|(_, value)| value.to_string())
    })
}

async fn choose(own: Rows<'_>, all: Rows<'_>, discovery: &ModelDiscovery) -> Result<Chosen, String> {
    endpoint::choose(&Config::of(Uid(1000), own, all), discovery).await
}

/// Whether it is that key: a key cannot be looked at.
fn has_key(chosen: &Chosen, key: &str) -> bool {
    chosen.endpoint.key.as_ref().is_some_and(|secret| secret.scrub(key) == "[key]")
}

#[tokio::test]
async fn config_goes_before_environment_and_demo() {
    let keys = discovery(&[("ANTHROPIC_API_KEY", KEY), ("OPENAI_API_KEY", "sk-other")]);
    let configured = [("ai/provider", "openai"), ("ai/model", "gpt-5.2"), ("ai/api_key", EVERYBODYS_KEY)];
    let chosen = choose(&[], &configured, &keys).await.unwrap();
    assert_eq!((chosen.endpoint.kind, chosen.model.as_str()), (ProviderKind::Openai, "gpt-5.2"));
    assert!(has_key(&chosen, EVERYBODYS_KEY));
    let chosen = choose(&[], &[], &keys).await.unwrap();
    assert_eq!(chosen.endpoint.kind, ProviderKind::Anthropic);
    assert!(has_key(&chosen, KEY) && !chosen.model.is_empty());
    let chosen = choose(&[], &[("ai/model", "claude-opus-4-6")], &keys).await.unwrap();
    assert_eq!(chosen.model, "claude-opus-4-6", "a model alone goes with what is found");
    let chosen = choose(&[], &[], &discovery(&[])).await.unwrap();
    assert_eq!((chosen.endpoint.kind, chosen.model.as_str()), (ProviderKind::Demo, "demo"));
    let chosen =
        choose(&[], &[("ai/provider", "Gemini"), ("ai/api_key", "k")], &discovery(&[])).await.unwrap();
    assert_eq!((chosen.endpoint.kind, chosen.model.as_str()), (ProviderKind::Gemini, "gemini-2.5-pro"));
    let server = [("ai/base_url", "http://127.0.0.1:9/v1"), ("ai/model", "m")];
    assert_eq!(choose(&[], &server, &discovery(&[])).await.unwrap().endpoint.kind, ProviderKind::OpenaiChat);
}

#[tokio::test]
async fn everybodys_key_goes_only_where_root_sends_it() {
    let keys = discovery(&[("ANTHROPIC_API_KEY", KEY)]);
    let all = [("ai/provider", "anthropic"), ("ai/model", "claude-opus-4-6"), ("ai/api_key", EVERYBODYS_KEY)];
    let mine = choose(&[("ai/model", "claude-sonnet-4-6")], &all, &keys).await.unwrap();
    assert!(has_key(&mine, EVERYBODYS_KEY) && mine.model == "claude-sonnet-4-6");
    let same = choose(&[("ai/provider", "ANTHROPIC")], &all, &keys).await.unwrap();
    assert!(has_key(&same, EVERYBODYS_KEY));

    let elsewhere = choose(&[("ai/base_url", "https://evil.example/v1")], &all, &keys).await;
    assert!(elsewhere.unwrap_err().starts_with("No API key for provider: anthropic"));
    let chat =
        [("ai/provider", "openai-chat"), ("ai/base_url", "https://evil.example/v1"), ("ai/model", "m")];
    assert!(choose(&chat, &all, &keys).await.unwrap().endpoint.key.is_none());
    let no_model = choose(&chat[..2], &all, &keys).await.unwrap_err();
    assert!(no_model.contains("users/1000/ai/model"), "everybody's is another provider's: {no_model}");
    let own = [("ai/base_url", "https://proxy.example/v1"), ("ai/api_key", "mine")];
    assert!(has_key(&choose(&own, &all, &keys).await.unwrap(), "mine"));

    let proxied = [&all[..], &[("ai/base_url", "https://proxy.example/v1/")]].concat();
    let usual = choose(&[("ai/base_url", "https://proxy.example/v1")], &proxied, &keys).await.unwrap();
    assert!(has_key(&usual, EVERYBODYS_KEY), "it is the same address");
    let direct = choose(&[("ai/base_url", "")], &proxied, &keys).await.unwrap();
    assert!(has_key(&direct, KEY), "the environment's key goes to the provider itself");
    let none = choose(&[("ai/api_key", "")], &all, &discovery(&[])).await.unwrap_err();
    assert!(none.starts_with("No API key"), "what a user set to nothing is nothing: {none}");
}

#[tokio::test]
async fn what_is_missing_is_named_without_any_key() {
    let nothing = discovery(&[]);
    let cases: [(Rows, &str); 5] = [
        (&[("ai/provider", "skynet"), ("ai/api_key", KEY)], "Unknown model provider: skynet"),
        (&[("ai/provider", "anthropic")], "ANTHROPIC_API_KEY"),
        (&[("ai/api_key", KEY)], "ai/provider"),
        (&[("ai/base_url", KEY), ("ai/model", "m")], "must begin with http"),
        (&[("ai/provider", "openai-chat"), ("ai/api_key", KEY)], "ai/model"),
    ];
    for (config, says) in cases {
        let error = choose(&[], config, &nothing).await.unwrap_err();
        assert!(error.contains(says) && error.contains("config/ai/") && !error.contains(KEY), "{error}");
        let error = choose(config, &[], &nothing).await.unwrap_err();
        assert!(error.contains("users/1000/ai/") && !error.contains(KEY), "{error}");
    }
    let chosen = choose(&[], &[("ai/provider", "openai"), ("ai/api_key", KEY)], &nothing).await.unwrap();
    assert!(!format!("{chosen:?}").contains(KEY));
}

#[tokio::test]
async fn a_local_server_is_asked_once_in_a_while() {
    let server = Server::start(|request| match request.path.as_str() {
        "/api/tags" => Reply::json(200, json!({ "models": [{ "name": "qwen3:8b", "modified_at": "2026" }] })),
        _ => Reply::json(200, json!({ "capabilities": ["tools"] })),
    });
    let server = server.await.unwrap();
    let host = server.base_url().trim_end_matches("/v1").to_string();
    let clock = Clock::manual(0);
    let client = Client::new(clock.clone(), PrivateHosts::Allow);
    let environment = move |name: &str| (name == "OLLAMA_HOST").then(|| host.clone());
    let discovery = ModelDiscovery::with_environment(clock.clone(), client, environment);
    let asked = || server.received().iter().filter(|request| request.path == "/api/tags").count();
    for _ in 0..3 {
        let chosen = choose(&[], &[], &discovery).await.unwrap();
        assert_eq!((chosen.endpoint.kind, chosen.model.as_str()), (ProviderKind::Ollama, "qwen3:8b"));
    }
    let named = [("ai/provider", "ollama"), ("ai/base_url", &server.base_url()[..])];
    assert_eq!(choose(&[], &named, &discovery).await.unwrap().model, "qwen3:8b");
    assert_eq!(asked(), 1);
    clock.advance(base::limits::process::DISCOVERY_KEPT.as_millis() as i64);
    choose(&[], &[], &discovery).await.unwrap();
    assert_eq!(asked(), 2);
    let denied = [("ai/private_endpoints", "deny")];
    assert_eq!(choose(&[], &denied, &discovery).await.unwrap().endpoint.kind, ProviderKind::Demo);
    assert_eq!(asked(), 2, "an address that is denied is not asked");
}

fn chosen(kind: ProviderKind, model: &str) -> Chosen {
    Chosen { endpoint: model::Endpoint::new(kind), model: model.to_string() }
}

#[test]
fn a_window_is_the_user_s_then_the_model_s_then_everybody_s() {
    let window = |own: Rows, model: &str| {
        let config = Config::of(Uid(1), own, &[("ai/context_window_tokens", "5000")]);
        let known = known_model(&config, &chosen(ProviderKind::Anthropic, model));
        (known.model.context_window_tokens, known.window_source)
    };
    let own = [("ai/context_window_tokens", "9000")];
    assert_eq!(window(&own, "claude-sonnet-4-5"), (Some(9_000), WindowSource::Config));
    assert_eq!(window(&[], "claude-sonnet-4-5"), (Some(200_000), WindowSource::Model));
    assert_eq!(window(&[], "made-up"), (Some(5_000), WindowSource::Config));
    assert_eq!(window(&[("ai/context_window_tokens", "lots")], "made-up").0, Some(5_000));
}

#[test]
fn prices_of_config_go_over_the_table_s() {
    let own = [("ai/prices", r#"{"claude-sonnet-4-5":{"input":0}}"#)];
    let priced = |prices: &str| {
        let config = Config::of(Uid(1), &own, &[("ai/prices", prices)]);
        known_model(&config, &chosen(ProviderKind::Anthropic, "claude-sonnet-4-5")).model.prices.unwrap()
    };
    let table = priced("");
    assert!(table.input > 0.0, "a user does not set prices");
    let changed = priced(r#"{"anthropic/claude-sonnet-4-5":{"output":99.5}}"#);
    assert_eq!((changed.input, changed.output), (table.input, 99.5), "what is not named keeps its price");
    assert_eq!(priced(r#"{"claude-sonnet-4-5":{"input":1}}"#).input, 1.0);
    for bad in ["x", "[]", r#"{"claude-sonnet-4-5":{"input":-1}}"#, r#"{"claude-sonnet-4-5":{"input":"x"}}"#]
    {
        assert_eq!(priced(bad), table, "{bad}");
    }
}

#[test]
fn policies_have_their_order() {
    let text = |own: Rows, all: Rows, profile: &str| {
        policy_text(&Config::of(Uid(1), own, all), profile).map(str::to_string)
    };
    let all = [("ai/tools/approval", "everybody"), ("ai/profile/task/tools/approval", "profile")];
    assert_eq!(text(&[("ai/tools/approval", "own")], &all, "task").as_deref(), Some("own"));
    assert_eq!(text(&[("ai/tools/approval", " ")], &all, "task").as_deref(), Some("profile"));
    assert_eq!(text(&[], &all, "init").as_deref(), Some("everybody"));
    assert_eq!(text(&[], &[], "init"), None);
    assert_eq!(text(&[], &all, "cron").as_deref(), Some(CRON_POLICY));
    assert!(serde_json::from_str::<Value>(CRON_POLICY).is_ok());
}

#[test]
fn nonsense_in_reasoning_means_none() {
    let level =
        |text: &str| reasoning(&Config::of(Uid(1), &[("ai/reasoning", text)], &[("ai/reasoning", "high")]));
    let levels = (level("medium"), level(""), level("lots"));
    assert_eq!(levels, (Reasoning::Medium, Reasoning::Off, Reasoning::Off));
}

fn tools() -> Value {
    json!({
        "tools": [{ "name": "Read", "description": "Reads.", "inputSchema": { "type": "object" } }],
        "devices": [{ "id": "mac", "implements": ["fs.*"], "description": "My Mac", "platform": "darwin" }],
        "mcpServers": ["Linear"]
    })
}

/// A fixture with a model at a fake server, reached with the user's own key.
async fn fixture_with(server: &Server) -> Fixture {
    let fixture = Fixture::with("task", tools()).await;
    fixture.set("users/<uid>/ai/provider", "openai-chat").await;
    fixture.set("users/<uid>/ai/base_url", &server.base_url()).await;
    fixture.set("users/<uid>/ai/api_key", KEY).await;
    fixture.set("users/<uid>/ai/model", "m1").await;
    fixture
}

#[tokio::test]
async fn a_prompt_has_its_parts_in_order() {
    let mut fixture = Fixture::with("task", tools()).await;
    fixture.set("config/ai/provider", "demo").await;
    let house = "Uid {{ identity.uid }}, cwd {{ identity.cwd }}.\n{{devices}}";
    fixture.set("config/ai/context.d/50-house.md", house).await;
    fixture.set("config/ai/profile/task/skills.d/pour.md", "How to pour.").await;
    fixture.write("context.d/20-mine.md", " I like {{ tea }}. ");
    fixture.write("skills.d/brew.md", "# Brew\n\nHow to brew tea.\n");
    fixture.process.context_files = r#"[{"name":"brief.md","text":"The brief."}]"#.to_string();
    let system = prepare(&fixture.host.world, &fixture.process).await.unwrap().system.clone();
    let uid = fixture.process.uid;
    let devices = "- gsv\n- mac: My Mac (darwin)";
    let order = [
        "[system.context:00-gsv.md]\n".to_string(),
        format!("Targets:\n{devices}"),
        "- Linear".to_string(),
        format!("[system.context:50-house.md]\nUid {uid}, cwd /home/ada.\n{devices}\n\n---\n\n"),
        "[profile.context:00-role.md]\n".to_string(),
        "[home.context:00-constitution.md]\n".to_string(),
        "[home.context:20-mine.md]\nI like {{ tea }}.\n\n---\n\n".to_string(),
        "[available.skills]\n".to_string(),
        "\n- pour: How to pour.\n- brew: How to brew tea.\n\n---\n\n".to_string(),
        "[process.context:brief.md]\nThe brief.".to_string(),
    ];
    let mut at = 0;
    for part in order {
        let Some(found) = system[at..].find(&part) else { panic!("{part} is not there in:\n{system}") };
        at += found + part.len();
    }
    assert_eq!(at, system.len());
}

#[tokio::test]
async fn a_run_gets_what_config_says_and_no_key_is_shown() {
    let server = Server::replying(vec![chat_reply(&Turn::text("hello"))]).await.unwrap();
    let fixture = fixture_with(&server).await;
    fixture.set("config/process/max_turns", "7").await;
    fixture.set("config/ai/generation/streaming", "off").await;
    fixture.write("skills.d/brew.md", "How to brew tea.");
    let setup = prepare(&fixture.host.world, &fixture.process).await.unwrap();
    assert_eq!((setup.model.id.as_str(), setup.limits.turns, setup.limits.tool_calls), ("m1", 7, 500));
    assert!(!setup.streaming && setup.interactive && setup.devices.len() == 1 && setup.tools.len() == 1);

    let request = Request::new(setup.model.clone(), vec![Message::user("hi")]);
    let answer = setup.provider.stream(request, Cancel::new()).finish().await;
    assert_eq!(model::answer_text(&answer), "hello");
    assert_eq!(server.received()[0].header("authorization"), format!("Bearer {KEY}"));

    let shown = fixture.restarted().ai_config(&fixture.process, None).await.unwrap();
    let names = (shown.api_key.as_str(), shown.provider.as_str(), shown.model.as_str());
    assert_eq!(names, ("", "openai-chat", "m1"));
    let skill = &shown.skill_index.as_ref().unwrap()[0];
    assert_eq!((skill.id.as_str(), skill.source.label.as_str()), ("brew", "home"));
    let files = shown.system_context_files.as_ref().unwrap();
    assert!(files.iter().any(|file| file.text.contains("{{ identity.uid }}")));
    let wire = serde_json::to_string(&shown).unwrap();
    let all = format!("{wire} {shown:?} {:?} {:?} {}", setup.model, setup.tools, setup.system);
    assert!(!all.contains(KEY));
}

#[tokio::test]
async fn what_a_provider_says_shows_no_key() {
    let reply = Reply::json(401, json!({ "error": { "message": format!("Incorrect key: {KEY}") } }));
    let server = Server::replying(vec![reply]).await.unwrap();
    let fixture = fixture_with(&server).await;
    let setup = prepare(&fixture.host.world, &fixture.process).await.unwrap();
    let request = Request::new(setup.model.clone(), vec![Message::user("hi")]);
    let answer = setup.provider.stream(request, Cancel::new()).finish().await;
    assert_eq!(answer.stop_reason, StopReason::Error);
    assert!(!format!("{answer:?}").contains(KEY) && format!("{answer:?}").contains("Incorrect key"));
}

#[tokio::test]
async fn texts_of_the_home_stay_within_their_budget() {
    let fixture = Fixture::with("init", tools()).await;
    fixture.set("config/ai/provider", "demo").await;
    fixture.set("users/<uid>/ai/max_context_bytes", "20").await;
    for name in ["00-constitution.md", "10-user.md"] {
        std::fs::remove_file(fixture.home("context.d").join(name)).unwrap();
    }
    fixture.write("context.d/a.md", "0123456789\n\n");
    fixture.write("context.d/b.md", "01234567890");
    fixture.write("context.d/c.md", "0");
    fixture.write("context.d/x.txt", "not a text");
    let system = prepare(&fixture.host.world, &fixture.process).await.unwrap().system.clone();
    assert!(system.contains("[home.context:a.md]\n0123456789\n"));
    assert!(!system.contains("home.context:b.md") && !system.contains("home.context:c.md"));
    assert!(!system.contains("x.txt"));
}

#[tokio::test]
async fn private_addresses_are_refused_when_root_says_so() {
    let server = Server::replying(vec![chat_reply(&Turn::text("hello"))]).await.unwrap();
    let fixture = fixture_with(&server).await;
    fixture.set("config/ai/private_endpoints", "deny").await;
    fixture.set("users/<uid>/ai/private_endpoints", "allow").await;
    let setup = prepare(&fixture.host.world, &fixture.process).await.unwrap();
    let request = Request::new(setup.model.clone(), vec![Message::user("hi")]);
    let answer = setup.provider.stream(request, Cancel::new()).finish().await;
    assert_eq!(answer.stop_reason, StopReason::Error);
    assert!(answer.error_message.unwrap().contains("private addresses"));
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn what_cannot_be_prepared_says_why() {
    let mut fixture = Fixture::with("task", json!({ "tools": "odd" })).await;
    fixture.set("config/ai/provider", "demo").await;
    let error = prepare(&fixture.host.world, &fixture.process).await.err().unwrap();
    assert!(error.contains("list of tools"), "{error}");
    fixture.process.profile = "pkg#gone".to_string();
    let error = prepare(&fixture.host.world, &fixture.process).await.err().unwrap();
    assert_eq!(error, "Unknown package profile: pkg#gone");
    let host = fixture.restarted();
    assert_eq!(host.ai_config(&fixture.process, Some("pkg#gone")).await.unwrap_err().code, 404);
    let unknown = host.ai_config(&fixture.process, Some("whatever")).await.unwrap();
    assert_eq!(unknown.profile.unwrap().0, "task");
}

/// Resolves until it is found as it was resolved before.
async fn kept(fixture: &Fixture) -> Arc<Setup> {
    let mut before = prepare(&fixture.host.world, &fixture.process).await.unwrap();
    for _ in 0..3_000 {
        let next = prepare(&fixture.host.world, &fixture.process).await.unwrap();
        if Arc::ptr_eq(&before, &next) {
            return next;
        }
        before = next;
        // Files have times of the machine's, which must move on as well.
        tokio::time::sleep(Duration::from_millis(10)).await;
        fixture.clock.advance(10);
    }
    panic!("it is never kept");
}

#[tokio::test]
async fn what_was_resolved_serves_again_until_something_changes() {
    let mut fixture = Fixture::with("task", tools()).await;
    fixture.set("config/ai/provider", "demo").await;
    let system = async |fixture: &Fixture| {
        prepare(&fixture.host.world, &fixture.process).await.unwrap().system.clone()
    };
    kept(&fixture).await;
    fixture.set("config/ai/context.d/50-house.md", "No shoes.").await;
    assert!(system(&fixture).await.contains("No shoes."));
    kept(&fixture).await;
    fixture.write("context.d/20-mine.md", "I like tea.");
    assert!(system(&fixture).await.contains("I like tea."));
    kept(&fixture).await;
    fixture.write("skills.d/tea/SKILL.md", "# Brew\n\nHow to brew tea.\n");
    assert!(system(&fixture).await.contains("How to brew tea."));
    kept(&fixture).await;
    std::fs::remove_file(fixture.home("context.d/20-mine.md")).unwrap();
    assert!(!system(&fixture).await.contains("I like tea."));
    fixture.process.context_files = r#"[{"name":"brief.md","text":"The brief."}]"#.to_string();
    assert!(system(&fixture).await.contains("The brief."));
}

#[tokio::test]
async fn a_text_that_changes_all_the_time_is_never_an_old_one() {
    let fixture = Fixture::with("task", tools()).await;
    fixture.set("config/ai/provider", "demo").await;
    for number in 100..400 {
        let text = format!("number {number}");
        fixture.write("context.d/20-mine.md", &text);
        for _ in 0..2 {
            let setup = prepare(&fixture.host.world, &fixture.process).await.unwrap();
            assert!(setup.system.contains(&text), "{text} is not in:\n{}", setup.system);
        }
    }
}

#[tokio::test]
async fn a_link_among_the_texts_is_read_each_time() {
    let fixture = Fixture::with("task", tools()).await;
    fixture.set("config/ai/provider", "demo").await;
    fixture.write("elsewhere.md", "Old.");
    std::os::unix::fs::symlink("../elsewhere.md", fixture.home("context.d/30-link.md")).unwrap();
    let before = prepare(&fixture.host.world, &fixture.process).await.unwrap();
    assert!(before.system.contains("Old."));
    tokio::time::sleep(base::limits::files::UNCHANGED_MIN_FINE * 2).await;
    fixture.write("elsewhere.md", "New.");
    let after = prepare(&fixture.host.world, &fixture.process).await.unwrap();
    assert!(after.system.contains("New."));
}
