//! Property test of paths: any text becomes a proper path or a refusal.

use proptest::prelude::*;
use vfs::{Code, VPath};

fn part() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(".".to_string()),
        Just("..".to_string()),
        Just("~".to_string()),
        Just("...".to_string()),
        Just("ä\u{0}".to_string()),
        Just("n".repeat(256)),
        "[a-z.~ \\\\]{0,6}",
        any::<String>(),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::collection::vec(part(), 0..12).prop_map(|parts| parts.join("/")),
        any::<String>(),
        Just("/".repeat(5_000)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn resolving_never_escapes(text in text(), home in "/[a-z/.]{0,12}", cwd in text()) {
        match VPath::resolve(&text, &home, &cwd) {
            Ok(path) => {
                let shown = path.as_str();
                prop_assert!(shown.starts_with('/'));
                prop_assert!(shown == "/" || !shown.ends_with('/'));
                prop_assert!(!shown.contains("//") && !shown.contains('\0'));
                prop_assert!(path.parts().all(|part| part != "." && part != ".." && part.len() <= 255));
                prop_assert_eq!(&VPath::resolve(shown, "/h", "/c").unwrap(), &path);
                prop_assert!(path.is_within(&VPath::root()) && path.is_within(&path));
                match path.parent() {
                    Some(parent) => {
                        prop_assert_eq!(&parent.join(path.name()), &path);
                        prop_assert!(path.is_within(&parent) && !parent.is_within(&path));
                    }
                    None => prop_assert_eq!(shown, "/"),
                }
            }
            Err(fault) => prop_assert!(matches!(fault.code, Code::Invalid | Code::NameTooLong)),
        }
    }
}

#[test]
fn what_people_mean() {
    let resolve = |text| VPath::resolve(text, "/home/ann", "/tmp/x").unwrap().to_string();
    for (text, meant) in [
        ("~", "/home/ann"),
        ("~/a/../b", "/home/ann/b"),
        ("~bob", "/tmp/x/~bob"),
        ("", "/tmp/x"),
        ("..", "/tmp"),
        ("../../../..", "/"),
        ("/a//b/./c/", "/a/b/c"),
        ("/../etc", "/etc"),
    ] {
        assert_eq!(resolve(text), meant, "{text}");
    }
}
