//! Tests of the change observer: every change on disk is told once it has happened, by its path without links.

use std::sync::{Arc, Mutex};

use protocol::ids::{Pid, RunId};
use vfs::observe::{Agent, Change, Observer};
use vfs::view::Writing;

use crate::world::{Who, World, at as path};

#[derive(Default)]
struct Told(Mutex<Vec<(String, String, Option<Agent>)>>);

impl Observer for Told {
    fn changed(&self, change: Change<'_>) {
        let path = format!("{}/{}", change.directory, change.name);
        self.0.lock().unwrap().push((path, change.who.username.clone(), change.agent.cloned()));
    }
}

#[tokio::test]
async fn every_change_is_told_with_who_made_it() {
    let world = World::new().await;
    let told = Arc::new(Told::default());
    world.tree.observe(told.clone());
    let ann = world.as_(Who::Ann);
    let how = Writing { parents: true, ..Writing::default() };
    ann.write(&path("/home/ann/d/a"), b"x".to_vec(), how).await.unwrap();
    ann.append(&path("/home/ann/d/a"), b"y".to_vec()).await.unwrap();
    ann.edit(&path("/home/ann/d/a"), |text| Ok::<_, ()>((text, ()))).await.unwrap().unwrap();
    ann.copy(&path("/home/ann/d/a"), &path("/home/ann/d/b")).await.unwrap();
    ann.chmod(&path("/home/ann/d/b"), 0o755).await.unwrap();
    ann.rename(&path("/home/ann/d/b"), &path("/home/ann/c")).await.unwrap();
    ann.symlink("d", &path("/home/ann/link")).await.unwrap();
    let agent = ann.clone().of_process(Pid::from("p1")).in_run(RunId::from("r1"));
    agent.write(&path("/home/ann/link/e"), b"z".to_vec(), Writing::default()).await.unwrap();
    ann.remove(&path("/home/ann/d"), true).await.unwrap();
    // What fails, and what only reads, is nothing to tell.
    world.as_(Who::Bob).write(&path("/home/ann/no"), vec![], Writing::default()).await.unwrap_err();
    ann.read(&path("/home/ann/c")).await.unwrap();
    let told = std::mem::take(&mut *told.0.lock().unwrap());
    let paths: Vec<&str> = told.iter().map(|(path, _, _)| path.as_str()).collect();
    let expected = [
        "/home/ann/d/a",
        "/home/ann/d/a",
        "/home/ann/d/a",
        "/home/ann/d/b",
        "/home/ann/d/b",
        "/home/ann/d/b",
        "/home/ann/c",
        "/home/ann/link",
        "/home/ann/d/e",
        "/home/ann/d",
    ];
    assert_eq!(paths, expected);
    assert!(told.iter().all(|(_, who, _)| who == "ann"));
    let agents: Vec<&Agent> = told.iter().filter_map(|(_, _, agent)| agent.as_ref()).collect();
    assert_eq!(agents, [&Agent { pid: Pid::from("p1"), run: Some(RunId::from("r1")) }]);
}
