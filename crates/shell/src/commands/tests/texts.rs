//! `skills` and `man`.

use crate::commands::stage::{Stage, text};

#[tokio::test]
async fn skills_are_files_and_directories_of_the_home() {
    let stage = Stage::new().await;
    for name in ["skills.d"] {
        assert_eq!(stage.run("alice", &["test", "-d", name]).await.code, 0);
    }
    assert_eq!(stage.prints(&["skills"]).await, "No skills available.\n");
    stage.write("alice", "~/skills.d/Brew Tea.md", "# Tea\n\nHow to brew tea.\n", 0o644).await;
    let deploy = "---\nname: deploy\ndescription: Ship it\n---\nRun the script.\n";
    stage.write("alice", "~/skills.d/ops/ship/SKILL.md", deploy, 0o644).await;
    stage.write("alice", "~/skills.d/ops/ship/run.sh", "echo ship\n", 0o755).await;
    stage.write("alice", "~/skills.d/ops/ship/lib/a.txt", "a", 0o644).await;
    stage.write("alice", "~/skills.d/DESCRIPTION.md", "not a skill", 0o644).await;
    stage.write("alice", "~/skills.d/empty.md", "\n", 0o644).await;
    stage.write("alice", "~/skills.d/ops/loose.md", "not a skill either", 0o644).await;
    let header = "NAME\tSOURCE\tWRITABLE\tDESCRIPTION\n";
    let (tea, ship) = ("brew-tea\thome\tyes\tHow to brew tea.\n", "deploy\thome\tyes\tShip it\n");
    assert_eq!(stage.prints(&["skills", "list"]).await, format!("{header}{tea}{ship}"));
    assert_eq!(stage.prints(&["skills", "search", "SCRIPT"]).await, format!("{header}{ship}"));
    assert_eq!(stage.prints(&["skills", "search", "nowhere"]).await, "No skills available.\n");
    let display = stage.prints(&["skills", "show", "deploy"]).await;
    assert_eq!(display, format!("path: /home/alice/skills.d/ops/ship/SKILL.md\nwritable: yes\n\n{deploy}"));
    assert_eq!(stage.prints(&["skills", "files", "deploy"]).await, "deploy\tlib/a.txt\ndeploy\trun.sh\n");
    assert_eq!(stage.prints(&["skills", "files", "brew-tea"]).await, "No supporting files for brew-tea.\n");
    assert_eq!(stage.prints(&["skills", "read", "deploy", "run.sh"]).await, "echo ship\n");
    assert_eq!(stage.prints(&["skills", "read", "Deploy", "./lib/a.txt"]).await, "a");
}

#[tokio::test]
async fn skills_says_what_it_does_not_find() {
    let stage = Stage::new().await;
    stage.write("alice", "~/skills.d/a/SKILL.md", "One.\n", 0o644).await;
    stage.write("alice", "~/skills.d/b/SKILL.md", "---\nname: a\n---\nTwo.\n", 0o644).await;
    let fails = async |line: &[&str]| stage.fails(line).await;
    let message = |text: &str| (1, format!("skills: {text}\n"));
    assert_eq!(fails(&["skills", "show"]).await, message("skill name is required"));
    assert_eq!(fails(&["skills", "show", "nope"]).await, message("skill 'nope' not found"));
    assert_eq!(
        fails(&["skills", "show", "a"]).await,
        message("ambiguous skill 'a'. Use one of: home:a, home:a")
    );
    stage.write("alice", "~/skills.d/c/SKILL.md", "Three.\n", 0o644).await;
    let outside = fails(&["skills", "read", "c", "../a/SKILL.md"]).await;
    assert_eq!(outside, message("'../a/SKILL.md' must be a path within the skill"));
    assert_eq!(fails(&["skills", "read", "c", "/etc/passwd"]).await.0, 1);
    assert_eq!(fails(&["skills", "read", "c", "x"]).await, message("x: No such file or directory"));
    assert_eq!(fails(&["skills", "frob"]).await.0, 1);
}

#[tokio::test]
async fn man_finds_commands_calls_and_topics() {
    let stage = Stage::new().await;
    let index = stage.prints(&["man"]).await;
    assert!(index.contains("\nls (1) - list directories\n"), "{index}");
    assert!(index.contains("\nfs.read (2) - "), "{index}");
    assert!(index.contains("\nfiles (7) - "), "{index}");
    let found = stage.prints(&["man", "-k", "notification"]).await;
    assert!(
        found.lines().count() > 2 && found.lines().all(|line| line.to_lowercase().contains("notification"))
    );
    assert!(stage.prints(&["man", "fs.read"]).await.contains("fs.read"));
    assert!(stage.prints(&["man", "2", "fs.read"]).await.contains("fs.read"));
    assert!(stage.prints(&["man", "targets"]).await.contains("devices - list"));
    // A command goes before a topic of the same name; its section asks for the topic.
    assert!(stage.prints(&["man", "skills"]).await.contains("skills [list"));
    assert!(stage.prints(&["man", "7", "skills"]).await.contains("skills(7)"));
    assert_eq!(stage.fails(&["man", "nope"]).await, (1, "man: no manual entry for nope\n".to_string()));
    assert_eq!(stage.fails(&["man", "../../etc/passwd"]).await.0, 1);
    let both = stage.run("alice", &["man", "ls", "nope"]).await;
    assert!(both.code == 1 && text(&both.stdout).contains("list directories"));
}
