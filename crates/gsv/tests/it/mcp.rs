//! Tests of `gsv mcp` with the real binary.

use crate::world::World;

#[test]
fn servers_are_added_shown_and_removed_from_the_command_line() {
    let world = World::set_up();
    assert_eq!(world.ok(&["mcp"]), "No MCP servers configured.\n");
    // Nobody listens there: the server is kept, and what went wrong is said.
    let added = world.ok(&["mcp", "add", "My Notes", "http://localhost:9/mcp", "--header", "X-Key=a b"]);
    assert!(added.contains("state=failed\nname=My Notes\nurl=http://localhost:9/mcp\n"), "{added}");
    assert!(added.contains("error=Failed to connect to localhost port 9"), "{added}");
    let json: serde_json::Value = serde_json::from_str(&world.ok(&["mcp", "status", "--json"])).unwrap();
    assert_eq!((&json[0]["name"], &json[0]["transport"]), (&"My Notes".into(), &"auto".into()), "{json}");
    assert!(!json.to_string().contains("a b"), "headers are not shown: {json}");
    let refused = world.run(&["mcp", "call", "My Notes", "x"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert_eq!(world.ok(&["mcp", "remove", "my notes"]), "removed=true\n");
    assert_eq!(world.run(&["mcp", "remove", "my notes"]).code, 1);
}
