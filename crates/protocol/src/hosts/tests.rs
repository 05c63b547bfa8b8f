//! Tests of lists of hosts.

use proptest::prelude::*;

use super::*;

fn list(text: &str) -> Allow {
    Allow::parse(text).unwrap_or_else(|why| panic!("{text}: {why}"))
}

#[test]
fn a_host_is_itself_and_no_other() {
    let allow = list("Example.org, other.net.\n");
    for (name, port) in [("example.org", 443), ("example.org", 80), ("other.net", 443)] {
        assert!(allow.allows(name, port), "{name}:{port}");
    }
    for (name, port) in [
        ("www.example.org", 443),
        ("example.org.evil.net", 443),
        ("notexample.org", 443),
        ("org", 443),
        ("", 443),
        ("example.org", 22),
        ("example.org", 8443),
        ("example.org", 0),
        ("example.org.", 443),
        ("Example.org", 443),
    ] {
        assert!(!allow.allows(name, port), "{name}:{port}");
    }
}

#[test]
fn a_star_means_subdomains_only() {
    let allow = list("*.example.org");
    assert!(allow.allows("a.example.org", 443) && allow.allows("a.b.example.org", 80));
    for name in ["example.org", ".example.org", "aexample.org", "a.example.org.evil.net"] {
        assert!(!allow.allows(name, 443), "{name}");
    }
}

#[test]
fn a_named_port_is_the_only_one_and_ssh_has_its_own_word() {
    let allow = list("example.org:8443 ssh:git.example.org *.internal.example.org:5000");
    assert!(allow.allows("example.org", 8443) && !allow.allows("example.org", 443));
    assert!(allow.allows("git.example.org", 22) && !allow.allows("git.example.org", 443));
    assert!(allow.allows("a.internal.example.org", 5000));
    assert!(allow.allows_name("example.org") && !allow.allows_name("www.example.org"));
    let refused = Allow::parse("example.org:22").unwrap_err();
    assert_eq!(refused, "example.org:22: write ssh:example.org to allow SSH");
}

#[test]
fn an_exception_goes_before_everything() {
    let allow = list("!ads.example.org *.example.org ads.example.org:8443");
    assert!(allow.allows("www.example.org", 443));
    assert!(!allow.allows("ads.example.org", 443) && !allow.allows("ads.example.org", 8443));
    let widened = allow.and(&list("ads.example.org new.net"));
    assert!(widened.allows("new.net", 443) && !widened.allows("ads.example.org", 443));
    assert!(!list("a.net").and(&list("!a.net")).allows("a.net", 443));
}

#[test]
fn presets_stand_for_hosts_and_are_off_unless_named() {
    assert!(Allow::default().is_empty() && list(" ,\n").is_empty());
    for preset in PRESETS {
        let allow = list(preset.name);
        for host in preset.hosts.iter().copied().flatten() {
            assert_eq!(canonical(host).as_deref(), Ok(*host));
            assert!(allow.allows(host, 443) && !Allow::default().allows(host, 443), "{host}");
            assert!(list("registries").allows(host, 443), "{host}");
        }
    }
    assert!(!list("registries !pypi.org").allows("pypi.org", 443));
}

#[test]
fn mistakes_are_told_with_what_to_write() {
    for (text, part) in [
        ("*", "write *.example.org"),
        ("*:443", "write *.example.org"),
        ("*.org", "top-level"),
        ("a.*.org", "write *.example.org"),
        ("**.example.org", "write *.example.org"),
        ("registires", "presets registries"),
        ("localhost", "presets registries"),
        ("https://example.org", "URLs"),
        ("https://example.org/x", "URLs"),
        ("example.org/path", "not the name"),
        ("example.org:http", "port"),
        ("example.org:0", "port"),
        ("example.org:+5", "port"),
        ("example.org:70000", "port"),
        ("127.0.0.1", "address"),
        ("2130706433", "address"),
        ("0x7f.1", "address"),
        ("[::1]", "address"),
        ("::1", "address"),
        ("::ffff:1.2.3.4", "address"),
        ("[::1]:443", "address"),
        ("1.2.3.4:443", "address"),
        ("ssh:1.2.3.4", "address"),
        ("!1.2.3.4", "address"),
        ("b\u{fc}cher.de", "xn--"),
        ("user@example.org", "not the name"),
        ("-a.example.org", "not the name"),
        ("a..example.org", "not the name"),
        ("!", "not the name"),
        ("ssh:", "not the name"),
    ] {
        let why = Allow::parse(text).expect_err(text);
        assert!(why.contains(part), "{text}: {why}");
    }
    let many = "a.example.org ".repeat(HOSTS_MAX + 1);
    assert!(Allow::parse(&many).is_err());
    assert!(Allow::parse(&" ".repeat(HOSTS_MAX_BYTES + 1)).is_err());
}

#[test]
fn addresses_are_no_names_in_any_spelling() {
    for text in [
        "1.2.3.4",
        "127.1",
        "0",
        "2130706433",
        "0x7f000001",
        "0X7F000001",
        "017700000001",
        "1.2.3.4.",
        "a.1",
        "a.0x",
        "::1",
        "[::1]",
        "::ffff:1.2.3.4",
        "fe80::1%lo",
    ] {
        assert_eq!(canonical(text), Err(NameError::Address), "{text}");
    }
    for text in ["", ".", "a b", "a/b", "a%2eb", "a\0b", "a..b", "a_b-.org", "a@b.org", "a.org\n"] {
        assert_eq!(canonical(text), Err(NameError::Malformed), "{text:?}");
    }
    assert_eq!(canonical(&"a".repeat(64)), Err(NameError::Malformed));
    assert_eq!(canonical(&"a.".repeat(127)), Ok("a.".repeat(126) + "a"));
    assert_eq!(canonical(&"a.".repeat(128)), Err(NameError::Malformed));
    assert_eq!(canonical("127.0.0.1.nip.io").as_deref(), Ok("127.0.0.1.nip.io"));
}

proptest! {
    #[test]
    fn whatever_is_read_never_allows_an_address(text in "[a-z0-9.*:!, -]{0,40}", host in "[0-9a-fx.:]{1,20}") {
        if let Ok(allow) = Allow::parse(&text)
            && (host.parse::<std::net::IpAddr>().is_ok() || canonical(&host) == Err(NameError::Address))
        {
            prop_assert!(!allow.allows_name(&host));
        }
    }

    #[test]
    fn the_entry_of_a_host_allows_that_host(name in "[a-z][a-z0-9]{0,8}(\\.[a-z]{1,6}){1,3}", port in 1u16..) {
        let text = entry(&name, Some(port));
        prop_assert!(list(&text).allows(&name, port), "{}", text);
        prop_assert!(list(&entry(&name, None)).allows(&name, 443));
    }

    #[test]
    fn a_canonical_name_stays_what_it_is(text in "\\PC{0,40}") {
        if let Ok(name) = canonical(&text) {
            prop_assert_eq!(canonical(&name), Ok(name.clone()));
            prop_assert!(name.parse::<std::net::IpAddr>().is_err());
        }
    }
}
