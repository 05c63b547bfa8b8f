//! Tests of approvals: several may wait at once, the first answer counts, and what is remembered is not asked again.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use model::fake::Turn;
use protocol::error::Error;
use protocol::literal::Nullable;
use protocol::outcome::Outcome;
use protocol::proc::approval::{Decision, Hil, Resolved, Scope};
use protocol::proc::history::MessageRole::ToolResult;
use serde_json::json;
use store::processes::ProcessState;

use crate::scene::{Scene, asked, words};

fn answer(request_id: &str, decision: Decision) -> Hil {
    Hil {
        pid: None,
        request_id: request_id.to_string(),
        decision,
        outside: None,
        remember: None,
        remember_scope: None,
        rehearsal: None,
    }
}

fn delete(id: &str, path: &str) -> Turn {
    Turn::tool(id, "Delete", json!({ "path": path, "target": "gsv" }))
}

async fn request(scene: &Scene, call: &str) -> String {
    let asked = scene.recorder.until("proc.run.hil.requested", |body| body["callId"] == call).await;
    asked["requestId"].as_str().unwrap().to_string()
}

async fn hil(scene: &Scene, hil: &Hil) -> Resolved {
    match scene.host.hil(scene.pid(), hil, "ann").await.unwrap() {
        Outcome::Done(resolved) => resolved,
        Outcome::Failed(why) => panic!("not answered: {why}"),
    }
}

async fn refused(scene: &Scene, hil: &Hil) -> String {
    match scene.host.hil(scene.pid(), hil, "bob").await.unwrap() {
        Outcome::Done(resolved) => panic!("answered: {resolved:?}"),
        Outcome::Failed(why) => why,
    }
}

#[tokio::test]
async fn several_wait_at_once_and_hold_nobody_up() {
    let turn = Turn::new()
        .call("a", "Delete", json!({ "path": "/a", "target": "gsv" }))
        .call("b", "Read", json!({ "path": "/b", "target": "gsv" }))
        .call("c", "Delete", json!({ "path": "/c", "target": "gsv" }));
    let scene = Scene::new(vec![turn, Turn::text("done")]).await;
    let run = scene.send("clean up").await;
    let (a, c) = (request(&scene, "a").await, request(&scene, "c").await);
    scene.recorder.until("proc.run.tool.finished", |body| body["callId"] == "b").await;
    assert_eq!(scene.fixture.state().await, ProcessState::WaitingHil);
    let pending = scene.host.approvals_pending(Some(scene.fixture.identity.uid), None).await.unwrap().pending;
    assert_eq!(pending.iter().map(|one| one.request.request_id.as_str()).collect::<Vec<_>>(), [&a, &c]);

    let first = hil(&scene, &answer(&c, Decision::Approve)).await;
    assert!(first.resumed && first.remembered.is_none());
    assert!(matches!(&first.pending_hil, Nullable::Value(next) if next.request_id == a));
    let late = refused(&scene, &answer(&c, Decision::Deny)).await;
    assert!(late.contains("already answered") && late.contains("approved by ann"), "{late}");
    let last = hil(&scene, &answer(&a, Decision::Deny)).await;
    assert_eq!(last.pending_hil, Nullable::Null);
    assert_eq!(scene.finished(&run).await["text"], "done");
    let rows = scene.fixture.messages(scene.pid()).await;
    let results: Vec<_> =
        rows.iter().filter(|row| row.role == ToolResult).map(|row| row.content.as_str()).collect();
    assert_eq!(results[0], "Error: Tool execution denied by user");
    assert_eq!(results[2], r#"{"ok":true}"#);
    let gone = refused(&scene, &answer(&a, Decision::Approve)).await;
    assert!(gone.contains("already answered (denied by ann)"), "{gone}");
    assert_eq!(refused(&scene, &answer("x", Decision::Deny)).await, "Pending tool confirmation not found: x");
}

#[tokio::test]
async fn what_is_remembered_is_not_asked_until_it_is_revoked() {
    let script =
        vec![delete("a", "/a"), delete("b", "/b"), Turn::text("one"), delete("c", "/c"), Turn::text("two")];
    let scene = Scene::new(script).await;
    let run = scene.send("clean up").await;
    let mut yes = answer(&request(&scene, "a").await, Decision::Approve);
    yes.remember = Some(true);
    assert_eq!(hil(&scene, &yes).await.remembered, Some(true));
    assert_eq!(scene.finished(&run).await["text"], "one");
    assert_eq!(scene.recorder.all("proc.run.hil.requested").len(), 1);
    let Outcome::Done(list) = scene.host.approvals_list(scene.pid()).await.unwrap() else { panic!() };
    assert_eq!(list.approvals.len(), 1);
    let rule = &list.approvals[0];
    assert_eq!((rule.syscall.as_str(), rule.scope, rule.target.as_str()), ("fs.delete", Scope::Class, "gsv"));
    let Outcome::Done(revoked) = scene.host.approvals_revoke(scene.pid(), &rule.approval_id).await.unwrap()
    else {
        panic!()
    };
    assert!(revoked.revoked);
    let run = scene.send("again").await;
    let asked = request(&scene, "c").await;
    hil(&scene, &answer(&asked, Decision::Approve)).await;
    assert_eq!(scene.finished(&run).await["text"], "two");
}

#[tokio::test]
async fn what_is_remembered_answers_what_waits_already() {
    let delete = |turn: Turn, id: &str, target: &str| {
        turn.call(id, "Delete", json!({ "path": format!("/{id}"), "target": target }))
    };
    let turn = [("a", "mac"), ("b", "mac"), ("c", "gsv"), ("d", "mac")];
    let turn = turn.into_iter().fold(Turn::new(), |turn, (id, target)| delete(turn, id, target));
    let scene = Scene::new(vec![turn, Turn::text("done")]).await;
    let run = scene.send("clean up").await;
    let mut ids = Vec::new();
    for call in ["a", "b", "c", "d"] {
        ids.push(request(&scene, call).await);
    }
    hil(&scene, &answer(&ids[3], Decision::Deny)).await;
    let mut yes = answer(&ids[0], Decision::Approve);
    yes.remember = Some(true);
    let resolved = hil(&scene, &yes).await;
    assert!(
        matches!(&resolved.pending_hil, Nullable::Value(next) if next.request_id == ids[2]),
        "{resolved:?}"
    );
    scene.recorder.until("proc.run.tool.finished", |body| body["callId"] == "b").await;
    let uid = Some(scene.fixture.identity.uid);
    let pending = scene.host.approvals_pending(uid, None).await.unwrap().pending;
    assert_eq!(pending.iter().map(|one| &one.request.request_id).collect::<Vec<_>>(), [&ids[2]]);
    let told = scene.recorder.all("proc.changed").into_iter().filter(|body| body["event"] == "hil.answered");
    let told: Vec<_> = told.map(|body| body["requestId"].as_str().unwrap().to_string()).collect();
    assert_eq!(told, [&ids[3], &ids[0], &ids[1]].map(String::as_str), "others see that they are gone");

    let Outcome::Done(list) = scene.host.approvals_list(scene.pid()).await.unwrap() else { panic!() };
    let by = format!("the remembered approval {}", list.approvals[0].approval_id);
    let late = refused(&scene, &answer(&ids[1], Decision::Deny)).await;
    assert!(late.contains(&format!("already answered (approved by {by})")), "{late}");
    let row = scene.fixture.store.approvals().by_id(&ids[1]).await.unwrap().unwrap();
    assert_eq!((row.decision, row.decided_by), (Some(Decision::Approve), Some(by)));
    let late = refused(&scene, &answer(&ids[3], Decision::Approve)).await;
    assert!(late.contains("denied by ann"), "what was answered before stays so: {late}");

    // The same rule from another answer is the same rule.
    hil(&scene, &Hil { remember: Some(true), ..answer(&ids[2], Decision::Approve) }).await;
    assert_eq!(scene.finished(&run).await["text"], "done");
    let rows = scene.fixture.messages(scene.pid()).await;
    let results: Vec<_> =
        rows.iter().filter(|row| row.role == ToolResult).map(|row| row.content.as_str()).collect();
    let (ok, denied) = (r#"{"ok":true}"#, "Error: Tool execution denied by user");
    assert_eq!(results, [ok, ok, ok, denied]);
}

#[tokio::test]
async fn a_rule_does_not_let_a_call_through_that_is_forbidden_meanwhile() {
    let turn = Turn::new().call("a", "Delete", json!({ "path": "/a", "target": "gsv" })).call(
        "b",
        "Delete",
        json!({ "path": "/keep/b", "target": "gsv" }),
    );
    let scene = Scene::new(vec![turn, Turn::text("done")]).await;
    let run = scene.send("clean up").await;
    let (a, b) = (request(&scene, "a").await, request(&scene, "b").await);
    let policy = json!({ "default": "auto", "rules": [
        { "match": "fs.delete", "action": "deny", "when": { "argPrefix": { "path": "/keep/" } } },
        { "match": "fs.delete", "action": "ask" },
    ] });
    let key = format!("users/{}/ai/tools/approval", scene.fixture.identity.uid);
    scene.fixture.set(&key, &policy.to_string()).await;
    hil(&scene, &Hil { remember: Some(true), ..answer(&a, Decision::Approve) }).await;
    assert_eq!(scene.finished(&run).await["text"], "done");
    let rows = scene.fixture.messages(scene.pid()).await;
    let results: Vec<_> =
        rows.iter().filter(|row| row.role == ToolResult).map(|row| row.content.as_str()).collect();
    assert_eq!(results, [r#"{"ok":true}"#, "Error: Tool execution denied by policy"]);
    assert!(refused(&scene, &answer(&b, Decision::Approve)).await.contains("already answered"));
}

#[tokio::test]
async fn an_abort_withdraws_what_waits() {
    let scene = Scene::new(vec![delete("a", "/a")]).await;
    let run = scene.send("clean up").await;
    let id = request(&scene, "a").await;
    let Outcome::Done(aborted) = scene.host.abort(scene.pid()).await.unwrap() else { panic!() };
    assert_eq!((aborted.aborted, aborted.interrupted_tool_calls), (true, Some(1)));
    let finished = scene.finished(&run).await;
    assert_eq!((&finished["status"], &finished["reason"]), (&json!("aborted"), &json!("user")));
    let late = refused(&scene, &answer(&id, Decision::Approve)).await;
    assert_eq!(late, format!("Run is no longer active for confirmation: {id}"));
    assert!(scene.host.approvals_pending(None, Some(scene.pid())).await.unwrap().pending.is_empty());
}

#[tokio::test]
async fn a_profile_without_people_never_waits() {
    let scene = Scene::new(vec![delete("a", "/a"), Turn::text("well")]).await;
    let pid = "app-1".into();
    scene.fixture.spawn(&pid, "app").await;
    let run = scene.send_to(&pid, "clean up").await;
    assert_eq!(scene.finished(&run).await["text"], "well");
    let rows = scene.fixture.messages(&pid).await;
    let result = rows.iter().find(|row| row.role == ToolResult).unwrap();
    assert!(result.content.contains("requires interactive approval"), "{}", result.content);
}

#[tokio::test]
async fn a_pending_approval_and_the_queue_survive_a_restart() {
    let script = vec![delete("a", "/a"), Turn::text("gone"), Turn::text("later")];
    let scene = Scene::new(script).await;
    let run = scene.send("clean up").await;
    let id = request(&scene, "a").await;
    let queued = match scene.host.send(scene.pid(), words("and then"), None, None).await.unwrap() {
        Outcome::Done(sent) => sent,
        Outcome::Failed(why) => panic!("{why}"),
    };
    assert_eq!(queued.queued, Some(true));
    scene.host.stop().await;
    assert_eq!(scene.host.send(scene.pid(), words("hi"), None, None).await.unwrap_err().code, 503);

    let again = Scene::on(scene.fixture.clone(), |_, _| Ok(json!({ "ok": true })));
    again.host.recover().await;
    hil(&again, &answer(&id, Decision::Approve)).await;
    let ends = [again.finished(&run).await, again.finished(&queued.run_id).await];
    assert!(ends.iter().all(|end| end["status"] == "ok" && end["text"] == "gone"), "{ends:?}");
    let second = asked(again.fixture.server.received().last().unwrap());
    assert_eq!(second.last().unwrap()["role"], "user", "the queued message was taken in: {second:?}");
}

/// A scene whose files are these, by target and path; and what was run, in order.
async fn with_files(script: Vec<Turn>) -> (Scene, Files, Calls) {
    let (files, calls): (Files, Calls) = Default::default();
    let (seen, made) = (files.clone(), calls.clone());
    let scene = Scene::with_tools(script, move |name, args| {
        let what = args["input"].as_str().or(args["path"].as_str()).unwrap();
        made.lock().unwrap().push(format!("{name} {what}"));
        if name != "fs.read" {
            return Ok(json!({ "ok": true, "status": "completed", "output": "" }));
        }
        match seen.lock().unwrap().get(args["path"].as_str().unwrap()) {
            Some(Ok(text)) => Ok(json!({ "ok": true, "content": text, "path": "x", "size": text.len() })),
            Some(Err(error)) => Err(error.clone()),
            None => Ok(json!({ "ok": false, "error": "no such file" })),
        }
    })
    .await;
    scene.fixture.is_bare.store(true, Ordering::SeqCst);
    (scene, files, calls)
}

type Files = Arc<Mutex<HashMap<&'static str, Result<&'static str, Error>>>>;
type Calls = Arc<Mutex<Vec<String>>>;

fn shell(id: &str, input: &str) -> Turn {
    Turn::tool(id, "Shell", json!({ "input": input, "target": "mac" }))
}

async fn results(scene: &Scene) -> Vec<String> {
    let rows = scene.fixture.messages(scene.pid()).await.into_iter();
    rows.filter(|row| row.role == ToolResult).map(|row| row.content).collect()
}

#[tokio::test]
async fn a_script_that_changes_after_the_approval_does_not_run() {
    let script =
        vec![shell("a", "sh x.sh"), shell("b", "sh x.sh"), shell("c", "sh x.sh"), Turn::text("done")];
    let (scene, files, calls) = with_files(script).await;
    files.lock().unwrap().insert("x.sh", Ok("echo hello"));
    let run = scene.send("run it").await;
    let asked = scene.recorder.until("proc.run.hil.requested", |body| body["callId"] == "a").await;
    assert_eq!((&asked["files"][0]["path"], &asked["files"][0]["state"]), (&json!("x.sh"), &json!("read")));
    assert!(asked["shape"].is_null(), "what runs a file is not remembered: {asked}");
    hil(&scene, &answer(asked["requestId"].as_str().unwrap(), Decision::Approve)).await;

    let second = request(&scene, "b").await;
    files.lock().unwrap().insert("x.sh", Ok("rm -rf ~"));
    hil(&scene, &answer(&second, Decision::Approve)).await;

    let third = request(&scene, "c").await;
    files.lock().unwrap().insert("x.sh", Err(Error::device_offline("mac")));
    hil(&scene, &answer(&third, Decision::Approve)).await;
    assert_eq!(scene.finished(&run).await["text"], "done");
    let results = results(&scene).await;
    assert!(results[0].contains("completed"), "{results:?}");
    for refused in &results[1..] {
        assert!(refused.contains("not the one that was approved: x.sh changed"), "{results:?}");
    }
    let ran = calls.lock().unwrap().iter().filter(|call| call.starts_with("shell.exec")).count();
    assert_eq!(ran, 1);
}

#[tokio::test]
async fn a_script_that_appears_after_the_question_does_not_run() {
    let (scene, files, _) = with_files(vec![shell("a", "./new"), Turn::text("done")]).await;
    let run = scene.send("run it").await;
    let asked = scene.recorder.until("proc.run.hil.requested", |body| body["callId"] == "a").await;
    assert_eq!(
        (&asked["files"][0]["state"], &asked["files"][0]["why"]),
        (&json!("unread"), &json!("no such file"))
    );
    files.lock().unwrap().insert("./new", Ok("rm -rf ~"));
    hil(&scene, &answer(asked["requestId"].as_str().unwrap(), Decision::Approve)).await;
    assert_eq!(scene.finished(&run).await["text"], "done");
    assert!(results(&scene).await[0].contains("./new changed"));
}

#[tokio::test]
async fn a_device_that_cannot_tell_is_said_and_the_text_is_approved() {
    let (scene, files, _) = with_files(vec![shell("a", "sh x.sh; sh $y"), Turn::text("done")]).await;
    files.lock().unwrap().insert("x.sh", Err(Error::device_offline("mac")));
    let run = scene.send("run it").await;
    let asked = scene.recorder.until("proc.run.hil.requested", |body| body["callId"] == "a").await;
    let states: Vec<_> =
        asked["files"].as_array().unwrap().iter().map(|file| file["state"].clone()).collect();
    assert_eq!(states, [json!("unknown"), json!("unknown")], "{asked}");
    hil(&scene, &answer(asked["requestId"].as_str().unwrap(), Decision::Approve)).await;
    assert_eq!(scene.finished(&run).await["text"], "done");
    assert!(results(&scene).await[0].contains("completed"));
}

#[tokio::test]
async fn a_question_with_a_script_survives_a_restart() {
    let (scene, files, _) = with_files(vec![shell("a", "sh x.sh"), Turn::text("done")]).await;
    files.lock().unwrap().insert("x.sh", Ok("echo hello"));
    let run = scene.send("run it").await;
    let id = request(&scene, "a").await;
    scene.host.stop().await;
    let again = Scene::on(scene.fixture.clone(), |name, _| match name {
        "fs.read" => Ok(json!({ "ok": true, "content": "echo other", "path": "x", "size": 10 })),
        _ => panic!("it runs"),
    });
    again.host.recover().await;
    hil(&again, &answer(&id, Decision::Approve)).await;
    assert_eq!(again.finished(&run).await["text"], "done");
    assert!(results(&again).await[0].contains("x.sh changed"));
}

#[tokio::test]
async fn what_writes_waits_for_an_open_question_about_its_target() {
    let write = |path: &str, target: &str| json!({ "path": path, "content": "x", "target": target });
    let turn = Turn::new()
        .call("before", "Write", write("/before", "mac"))
        .call("asked", "Delete", json!({ "path": "/a", "target": "mac" }))
        .call("after", "Write", write("/after", "MAC"))
        .call("read", "Read", json!({ "path": "/b", "target": "mac" }))
        .call("elsewhere", "Write", write("/c", "gsv"))
        .call("again", "Delete", json!({ "path": "/d", "target": "mac" }));
    let (scene, _, calls) = with_files(vec![turn, Turn::text("done")]).await;
    let policy = json!({ "rules": [
        { "match": "fs.write", "action": "auto" }, { "match": "fs.delete", "action": "ask" },
    ] });
    let key = format!("users/{}/ai/tools/approval", scene.fixture.identity.uid);
    scene.fixture.set(&key, &policy.to_string()).await;
    let gate = scene.recorder.hold("fs.write");
    let run = scene.send("go").await;
    scene.recorder.until("proc.run.tool.finished", |body| body["callId"] == "read").await;
    assert!(
        scene.recorder.all("proc.run.hil.requested").is_empty(),
        "what is asked about is still being written"
    );
    gate.notify_one();
    gate.notify_one();
    let asked = request(&scene, "asked").await;
    scene.recorder.until("proc.run.tool.finished", |body| body["callId"] == "elsewhere").await;
    assert_eq!(scene.fixture.state().await, ProcessState::WaitingHil);
    assert!(!calls.lock().unwrap().contains(&"fs.write /after".to_string()));
    assert_eq!(
        scene.recorder.all("proc.run.hil.requested").len(),
        1,
        "a question waits for the writes before it"
    );
    hil(&scene, &answer(&asked, Decision::Deny)).await;
    scene.recorder.until("proc.run.tool.started", |body| body["callId"] == "after").await;
    gate.notify_one();
    let again = request(&scene, "again").await;
    hil(&scene, &answer(&again, Decision::Approve)).await;
    assert_eq!(scene.finished(&run).await["text"], "done");
    assert!(calls.lock().unwrap().contains(&"fs.delete /d".to_string()));
}

#[tokio::test]
async fn a_question_says_why_and_what_would_be_remembered() {
    let scene = Scene::new(vec![shell("a", "rm notes.txt"), Turn::text("done")]).await;
    scene.fixture.is_bare.store(true, Ordering::SeqCst);
    scene.send("clean up").await;
    let asked = scene.recorder.until("proc.run.hil.requested", |body| body["callId"] == "a").await;
    let reasons = asked["reasons"].as_array().unwrap();
    assert_eq!(reasons[0], "It deletes or overwrites something for good: rm.");
    assert_eq!(reasons[2], "It runs on a device that has no sandbox for it.");
    let words = "rm of a single plain file in the directory where commands start on mac";
    assert_eq!(asked["shapeText"], words);
    let scope = Some(Scope::Shape);
    let id = asked["requestId"].as_str().unwrap();
    hil(&scene, &Hil { remember: Some(true), remember_scope: scope, ..answer(id, Decision::Approve) }).await;
    let Outcome::Done(list) = scene.host.approvals_list(scene.pid()).await.unwrap() else { panic!() };
    assert_eq!(list.approvals[0].shape_text.as_deref(), Some(words));
}
