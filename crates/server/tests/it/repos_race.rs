//! Test of two writers that race on one ref over real sockets, a thousand times.

use serde_json::{Value, json};
use testkit::Gateway;

const ROUNDS: usize = 1_000;

fn apply(head: &str, text: &str) -> Value {
    let put = json!({ "type": "put", "path": "n", "content": text });
    json!({ "repo": "alice/race", "message": text, "ops": [put], "expectedHead": head })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_writers_one_wins_and_exactly_the_other_gets_409() {
    let gateway = Gateway::set_up().await;
    let (mut one, mut other) = (gateway.user().await, gateway.user().await);
    let created = one.call("repo.create", json!({ "repo": "alice/race" })).await.unwrap();
    let mut head = created["head"].as_str().unwrap().to_string();
    let mut heads = vec![head.clone()];
    for round in 0..ROUNDS {
        let (first, second) =
            (apply(&head, &format!("one {round}")), apply(&head, &format!("other {round}")));
        let answers = tokio::join!(one.call("repo.apply", first), other.call("repo.apply", second));
        let (won, lost) = match answers {
            (Ok(won), Err(lost)) | (Err(lost), Ok(won)) => (won, lost),
            both => panic!("round {round}: {both:?}"),
        };
        let now = won["head"].as_str().unwrap().to_string();
        assert_eq!(lost.code, 409, "{lost:?}");
        assert_eq!((&lost.details["expectedHead"], &lost.details["head"]), (&json!(head), &json!(now)));
        heads.push(now.clone());
        head = now;
    }
    let path = gateway.data().join("repos/alice/race.git");
    let mut command = std::process::Command::new("git");
    let listed = command.args(["rev-list", "--reverse", "main"]).current_dir(path).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert_eq!(listed.lines().collect::<Vec<_>>(), heads, "no commit is lost");
}
