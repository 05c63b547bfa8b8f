//! Tests of git over HTTP with the real git program over real sockets: clone, fetch, push, and who may.

pub mod bed;
mod hostile;
mod killed;
mod quota;
mod slow;

use bed::{Bed, PASSWORD_OF_ALL, basic};
use serde_json::json;
use testkit::gateway::Gateway;

#[tokio::test]
async fn a_repository_is_pushed_cloned_and_fetched_with_every_protocol() {
    let bed = Bed::new().await;
    // It is made by the first push.
    let work = bed.work("work");
    work.commit("README.md", "one\n", "first").await;
    work.ok(&["push", &bed.url("alice", "alice/notes"), "main"]).await;
    for version in ["0", "1", "2"] {
        let protocol = format!("protocol.version={version}");
        let copy = bed.dir(&format!("copy{version}"));
        let url = bed.url("alice", "alice/notes.git");
        bed.git(&["-c", &protocol, "clone", "-q", &url, copy.to_str().unwrap()]).await.assert_ok();
        let copy = bed.at(&copy);
        assert_eq!(copy.read("README.md"), "one\n");
        work.commit("README.md", &format!("for {version}\n"), "more").await;
        work.ok(&["-c", &protocol, "push", &bed.url("alice", "alice/notes"), "main"]).await;
        copy.ok(&["-c", &protocol, "pull", "-q", "--ff-only"]).await;
        assert_eq!(copy.read("README.md"), format!("for {version}\n"));
        copy.ok(&["fsck", "--strict"]).await;
        // Back to where the next one begins.
        work.commit("README.md", "one\n", "back").await;
        work.ok(&["push", &bed.url("alice", "alice/notes"), "main"]).await;
    }
    bed.fsck("alice/notes").await;
}

#[tokio::test]
async fn large_pushes_shallow_and_partial_clones_work() {
    let bed = Bed::new().await;
    let work = bed.work("work");
    for n in 0..4 {
        // More than git sends in one piece, and what cannot be compressed.
        work.commit_bytes("large.bin", &bed::noise(2 << 20, n), &format!("large {n}")).await;
    }
    work.ok(&["push", &bed.url("alice", "alice/large"), "main"]).await;
    let url = bed.url("alice", "alice/large");
    let shallow = bed.dir("shallow");
    bed.git(&["clone", "-q", "--depth", "1", &url, shallow.to_str().unwrap()]).await.assert_ok();
    let shallow = bed.at(&shallow);
    assert_eq!(shallow.ok(&["rev-list", "--count", "HEAD"]).await.trim(), "1");
    shallow.ok(&["fetch", "-q", "--deepen", "1"]).await;
    assert_eq!(shallow.ok(&["rev-list", "--count", "HEAD"]).await.trim(), "2");
    shallow.ok(&["fetch", "-q", "--unshallow"]).await;
    assert_eq!(shallow.ok(&["rev-list", "--count", "HEAD"]).await.trim(), "4");
    let partial = bed.dir("partial");
    let filtered = ["clone", "-q", "--filter=blob:none", "--no-checkout", &url, partial.to_str().unwrap()];
    bed.git(&filtered).await.assert_ok();
    let partial = bed.at(&partial);
    let missing = partial.ok(&["rev-list", "--objects", "--missing=print", "HEAD"]).await;
    assert_eq!(missing.lines().filter(|line| line.starts_with('?')).count(), 4, "{missing}");
    partial.ok(&["checkout", "-q", "HEAD~1"]).await;
    assert_eq!(std::fs::read(partial.path("large.bin")).unwrap(), bed::noise(2 << 20, 2));
    bed.fsck("alice/large").await;
}

#[tokio::test]
async fn nobody_learns_of_a_repository_they_may_not_read() {
    let bed = Bed::new().await;
    bed.add_user("bob").await;
    bed.work("work").push_first(&bed.url("alice", "alice/secret")).await;
    for repo in ["alice/secret", "alice/none", "nobody/none", "alice/a..b", "alice/%2e%2e", "alice/x.lock"] {
        for service in ["git-upload-pack", "git-receive-pack"] {
            let path = format!("/git/{repo}/info/refs?service={service}");
            let answer = bed.get(&path, &[]).await;
            assert_eq!(answer.status, 401, "{path}");
            assert!(answer.head.contains("www-authenticate: Basic realm=\"gsv\""), "{}", answer.head);
            assert_eq!(answer.text(), "Authentication required\n");
            let other = bed.get(&path, &[basic("bob", PASSWORD_OF_ALL)]).await;
            assert_eq!(other.status, 404, "{path}: {}", other.text());
            assert!(other.text().starts_with("Repository not found"), "{}", other.text());
        }
        let posted = bed.post(&format!("/git/{repo}/git-upload-pack"), &[], b"0000").await;
        assert_eq!(posted.status, 401);
    }
    for repo in ["alice/secret", "alice/none"] {
        let path = format!("/git/{repo}/info/refs?service=git-upload-pack");
        let wrong = bed.get(&path, &[basic("alice", "wrong-password")]).await;
        assert_eq!((wrong.status, wrong.text().as_str()), (401, "Authentication failed\n"), "{path}");
    }
    let refused = bed.git(&["clone", "-q", &bed.url("bob", "alice/secret"), "nowhere"]).await;
    assert!(refused.err.contains("Repository not found") && refused.code != 0, "{refused:?}");
    // Root reads everything, and a token does for a password.
    bed.git(&["ls-remote", &bed.url("root", "alice/secret")]).await.assert_ok();
    let token = bed.user_token("alice").await;
    let with_token = bed.git(&["ls-remote", &bed.url_with("alice", &token, "alice/secret")]).await;
    assert!(with_token.assert_ok().contains("refs/heads/main"));
    let node = bed.gateway.node_token.clone();
    let device = bed.git(&["ls-remote", &bed.url_with("alice", &node, "alice/secret")]).await;
    assert_ne!(device.code, 0, "a device's token is not a person's");
    // Who guesses waits, as everywhere.
    let mut statuses = Vec::new();
    for _ in 0..12 {
        let path = "/git/alice/secret/info/refs?service=git-upload-pack";
        statuses.push(bed.get(path, &[basic("bob", "guess")]).await.status);
    }
    assert_eq!(statuses.last(), Some(&429), "{statuses:?}");
}

#[tokio::test]
async fn everybody_reads_what_is_public_and_only_its_owner_writes() {
    let bed = Bed::new().await;
    bed.add_user("bob").await;
    let work = bed.work("work");
    work.push_first(&bed.url("alice", "alice/open")).await;
    let set = async |public: bool| {
        let args = json!({ "repo": "alice/open", "public": public });
        bed.gateway.user().await.call("pkg.public.set", args).await.unwrap()
    };
    assert_eq!(set(true).await["changed"], true);
    let anonymous = bed.plain_url("alice/open");
    assert!(bed.git(&["ls-remote", &anonymous]).await.assert_ok().contains("refs/heads/main"));
    bed.git(&["ls-remote", &bed.url_with("alice", "wrong-password", "alice/open")]).await.assert_ok();
    let path = "/git/alice/open/info/refs?service=git-receive-pack";
    assert_eq!(bed.get(path, &[]).await.status, 401);
    let bobs = bed.get(path, &[basic("bob", PASSWORD_OF_ALL)]).await;
    assert_eq!(bobs.status, 403, "{}", bobs.text());
    work.commit("x", "y", "more").await;
    let refused = work.git(&["push", &bed.url("bob", "alice/open"), "main"]).await;
    assert!(refused.code != 0 && refused.err.contains("403"), "{refused:?}");
    let foreign = bed.gateway.login("bob", PASSWORD_OF_ALL).await;
    let mut foreign = foreign;
    let args = json!({ "repo": "alice/open", "public": false });
    assert_eq!(foreign.call("pkg.public.set", args).await.unwrap_err().code, 403);
    assert_eq!(set(false).await["changed"], true);
    assert_ne!(bed.git(&["ls-remote", &anonymous]).await.code, 0);
    // Nobody makes repositories under another's name, or the gateway's.
    for (user, repo, status) in [("bob", "alice/new", 404), ("alice", "system/x", 403)] {
        let path = format!("/git/{repo}/info/refs?service=git-receive-pack");
        assert_eq!(bed.get(&path, &[basic(user, PASSWORD_OF_ALL)]).await.status, status, "{repo}");
    }
}

#[tokio::test]
async fn history_that_others_follow_is_not_rewritten() {
    let bed = Bed::new().await;
    let work = bed.work("work");
    for repo in ["alice/home", "alice/mine"] {
        let url = bed.url("alice", repo);
        if repo == "alice/home" {
            // What is in the home is there before anybody pushes.
            work.ok(&["fetch", "-q", &url, "main"]).await;
            work.ok(&["reset", "-q", "--hard", "FETCH_HEAD"]).await;
            work.commit("context.d/20-more.md", "pushed\n", "first").await;
            work.ok(&["push", "-q", &url, "main"]).await;
        } else {
            work.git(&["update-ref", "-d", "HEAD"]).await;
            work.push_first(&url).await;
        }
        work.ok(&["push", &url, "main:refs/heads/topic"]).await;
        work.ok(&["commit", "-q", "--amend", "-m", "another first"]).await;
        let forced = work.git(&["push", "--force", &url, "main"]).await;
        if repo == "alice/home" {
            assert!(forced.code != 0 && forced.err.contains("non-fast-forward"), "{forced:?}");
        } else {
            forced.assert_ok();
        }
        work.ok(&["push", "--force", &url, "main:topic"]).await;
        let deleted = work.git(&["push", &url, ":main"]).await;
        assert!(deleted.code != 0 && deleted.err.contains("deletion of the current branch"), "{deleted:?}");
        work.ok(&["push", &url, ":topic"]).await;
        bed.fsck(repo).await;
    }
}

#[tokio::test]
async fn it_speaks_only_gits_smart_protocol() {
    let bed = Bed::new().await;
    bed.work("work").push_first(&bed.url("alice", "alice/notes")).await;
    let login = basic("alice", PASSWORD_OF_ALL);
    for path in [
        "/git/alice/notes.git/HEAD",
        "/git/alice/notes/objects/info/packs",
        "/git/alice/notes/info/refs",
        "/git/alice/notes/info/refs?service=git-upload-archive",
        "/git/alice",
        "/git/alice/notes/../../../etc/passwd",
    ] {
        assert_eq!(bed.get(path, std::slice::from_ref(&login)).await.status, 404, "{path}");
    }
    let unknown = bed
        .post_as("/git/alice/notes/git-upload-pack", "text/plain", std::slice::from_ref(&login), b"0000")
        .await;
    assert_eq!(unknown.status, 415, "what a page elsewhere could send");
    let coded = ("content-encoding".to_string(), "br".to_string());
    let coded = bed.post("/git/alice/notes/git-upload-pack", &[login.clone(), coded], b"0000").await;
    assert_eq!(coded.status, 415);
    let refs = bed.get("/git/alice/notes/info/refs?service=git-upload-pack", &[login]).await;
    assert!(refs.text().starts_with("001e# service=git-upload-pack\n0000"), "{}", refs.text());
    assert!(refs.head.contains("cache-control: no-cache"), "{}", refs.head);
    let metrics = testkit::http_get(bed.gateway.address, "/metrics").await;
    assert!(metrics.contains("\ngsv_git_requests 0\n"), "{metrics}");
}

#[tokio::test]
async fn a_gateway_that_nobody_set_up_has_nothing() {
    let gateway = Gateway::fresh().await;
    let answer =
        bed::exchange(gateway.address, "GET", "/git/a/b/info/refs?service=git-upload-pack", &[], b"").await;
    assert_eq!(answer.status, 401);
    let login = [basic("root", "guess-guess")];
    let answer =
        bed::exchange(gateway.address, "GET", "/git/a/b/info/refs?service=git-upload-pack", &login, b"")
            .await;
    assert_eq!(answer.status, 425);
}
