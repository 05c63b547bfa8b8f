//! The program that guests of a test's gateway are run by: a test is no program that could be run as a guest.

use std::path::PathBuf;

/// Beside the test itself: the helper of the server's tests, or the program.
pub fn find() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its file");
    let folder = test.parent().and_then(|deps| deps.parent()).expect("tests lie in `deps`");
    let names = ["guest-helper", "gsv"];
    let found = names.iter().map(|name| folder.join(name)).find(|file| file.exists());
    found.unwrap_or_else(|| folder.join("guest-helper"))
}
