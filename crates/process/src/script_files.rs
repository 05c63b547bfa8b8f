//! Content fingerprints of the script files that a command names: taken when a person is asked, and again before what
//! was approved runs, so that an approval holds for what the files said and not only for their names.

use base::limits;
use policy::ScriptFiles;
use protocol::proc::approval::{ScriptFile, ScriptFileState};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use store::processes::ProcessRow;

use crate::world::World;

/// The script files that a call names.
pub(crate) fn named(syscall: &str, args: &Map<String, Value>) -> ScriptFiles {
    let text = |name: &str| args.get(name).and_then(Value::as_str);
    let is_stdin = args.get("sessionId").is_some_and(|id| id.as_str().is_none_or(|id| !id.trim().is_empty()));
    match text("input").filter(|_| syscall == "shell.exec" && !is_stdin) {
        Some(input) => policy::script_files(input, text("cwd")),
        None => ScriptFiles::default(),
    }
}

/// Looks at script files on their target, as the process. What the target does not tell in time is unknown.
pub(crate) async fn look(
    world: &World,
    process: &ProcessRow,
    target: &str,
    names: ScriptFiles,
) -> Vec<ScriptFile> {
    let until = world.clock.instant() + limits::approval::SCRIPT_FILES_WAIT;
    let mut files = Vec::new();
    for path in names.paths {
        let args = json!({ "path": path, "target": target }).to_string();
        let id = world.random.uuid();
        let left = until.saturating_duration_since(world.clock.instant());
        let answer = world.gateway.call(process, &id, "fs.read", &args);
        files.push(match world.clock.timeout(left, answer).await {
            Ok(Ok(answer)) => told(path, &answer),
            Ok(Err(error)) => unknown(path, error.message),
            Err(_) => unknown(path, "it could not be read in time".to_string()),
        });
    }
    let lost = |path| unknown(path, "its name is known only when the command runs".to_string());
    files.extend(names.unknown.into_iter().map(lost));
    files
}

/// What is known when nobody could look.
pub(crate) fn unseen(names: ScriptFiles) -> Vec<ScriptFile> {
    let all = names.paths.into_iter().chain(names.unknown);
    all.map(|path| unknown(path, "it could not be looked at".to_string())).collect()
}

fn unknown(path: String, why: String) -> ScriptFile {
    ScriptFile { path, state: ScriptFileState::Unknown, digest: None, size: None, why: Some(why) }
}

/// What an answer of `fs.read` tells of a file.
fn told(path: String, answer: &str) -> ScriptFile {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let hash = |what: &Value| -> String {
        Sha256::digest(what.to_string().as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let size = answer["size"].as_u64();
    if let Some(why) = answer["error"].as_str().filter(|_| answer["ok"] == Value::Bool(false)) {
        let digest = Some(hash(&answer["error"]));
        return ScriptFile { path, state: ScriptFileState::Unread, digest, size, why: Some(why.to_string()) };
    }
    if answer["content"].is_null() {
        return unknown(path, "it is no file".to_string());
    }
    let digest = Some(hash(&json!([answer["content"], answer["size"]])));
    ScriptFile { path, state: ScriptFileState::Read, digest, size, why: None }
}

/// The digest of a call and of what is known of its script files.
pub(crate) fn digest(call: &str, files: &[ScriptFile]) -> String {
    let content = |file: &ScriptFile| match (file.state, &file.digest) {
        (ScriptFileState::Read, Some(digest)) => format!("read {digest}"),
        (ScriptFileState::Unread, Some(digest)) => format!("unread {digest}"),
        _ => "unknown".to_string(),
    };
    let files: Vec<_> = files.iter().map(|file| (file.path.as_str(), content(file))).collect();
    policy::digest_with_files(call, files.iter().map(|(path, content)| (*path, content.as_str())))
}

/// The files that were known when the question was asked and are not the same now.
pub(crate) fn changed(asked: &[ScriptFile], now: &[ScriptFile]) -> Vec<String> {
    let is_same = |file: &&ScriptFile| {
        let found = now.iter().find(|other| other.path == file.path);
        file.state == ScriptFileState::Unknown
            || found.is_some_and(|found| found.state == file.state && found.digest == file.digest)
    };
    asked.iter().filter(|file| !is_same(file)).map(|file| file.path.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(answer: Value) -> ScriptFile {
        told("x.sh".to_string(), &answer.to_string())
    }

    #[test]
    fn a_file_is_what_its_target_says() {
        let read = |text: &str| file(json!({ "ok": true, "content": text, "path": "/x.sh", "size": 3 }));
        assert_eq!(read("a"), read("a"));
        assert_ne!(read("a").digest, read("b").digest);
        let missing = file(json!({ "ok": false, "error": "no such file" }));
        assert_eq!((missing.state, missing.why.as_deref()), (ScriptFileState::Unread, Some("no such file")));
        let listing = file(json!({ "ok": true, "path": "/", "files": [], "directories": [] }));
        assert_eq!(listing.state, ScriptFileState::Unknown);
        assert_eq!(told("x".to_string(), "nonsense").state, ScriptFileState::Unknown);
        let all = [vec![], vec![read("a")], vec![read("b")], vec![missing.clone()], vec![listing.clone()]];
        for (at, one) in all.iter().enumerate() {
            assert!(all[at + 1..].iter().all(|other| digest("d", one) != digest("d", other)), "{at}");
        }
        assert_eq!(changed(&[read("a")], &[read("a")]), Vec::<String>::new());
        for now in [vec![read("b")], vec![missing.clone()], vec![listing.clone()], vec![]] {
            assert_eq!(changed(&[read("a")], &now), ["x.sh"]);
        }
        assert_eq!(changed(&[missing], &[read("a")]), ["x.sh"], "a file that was not there");
        assert!(changed(&[listing], &[read("a")]).is_empty(), "the approval was for the text alone");
    }

    #[test]
    fn text_for_a_running_command_names_nothing() {
        let args = |value: Value| value.as_object().cloned().unwrap();
        assert!(!named("shell.exec", &args(json!({ "input": "sh x.sh" }))).is_empty());
        assert!(named("shell.exec", &args(json!({ "input": "sh x.sh", "sessionId": "s" }))).is_empty());
        assert!(named("fs.write", &args(json!({ "input": "sh x.sh" }))).is_empty());
    }
}
