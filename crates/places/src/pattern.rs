//! Glob matching of whole paths by components: `*` within a name, `**` for any number of names.

/// How a pattern stands to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// The path is the place, or within it.
    Within,
    /// The place may be below the path.
    Above,
    /// They have nothing to do with each other.
    Apart,
}

/// The names of a path or pattern.
pub(crate) fn names(path: &str) -> Vec<&str> {
    path.split('/').filter(|name| !name.is_empty()).collect()
}

/// Compares a pattern with a path, both relative to the same directory. A pattern that ends with `$` means the place
/// itself and nothing below it.
pub(crate) fn fit(pattern: &str, path: &[&str], fold_case: bool) -> Fit {
    let (pattern, is_exact) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    walk(&names(pattern), path, is_exact, fold_case)
}

fn walk(pattern: &[&str], path: &[&str], is_exact: bool, fold_case: bool) -> Fit {
    let (Some((first, rest)), Some((name, below))) = (pattern.split_first(), path.split_first()) else {
        return match (pattern.is_empty(), path.is_empty()) {
            (true, true) => Fit::Within,
            (true, false) if is_exact => Fit::Apart,
            (true, false) => Fit::Within,
            (false, _) => Fit::Above,
        };
    };
    if *first == "**" {
        // Either it stands for nothing here, or it takes one more name.
        let without = walk(rest, path, is_exact, fold_case);
        let with = walk(pattern, below, is_exact, fold_case);
        return match (without, with) {
            (Fit::Within, _) | (_, Fit::Within) => Fit::Within,
            (Fit::Above, _) | (_, Fit::Above) => Fit::Above,
            _ => Fit::Apart,
        };
    }
    if is_like(first, name, fold_case) { walk(rest, below, is_exact, fold_case) } else { Fit::Apart }
}

/// Whether a name is as a pattern with `*` says.
pub(crate) fn is_like(pattern: &str, name: &str, fold_case: bool) -> bool {
    if !pattern.contains('*') {
        return if fold_case { pattern.eq_ignore_ascii_case(name) } else { pattern == name };
    }
    if fold_case {
        return is_like(&pattern.to_lowercase(), &name.to_lowercase(), false);
    }
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_parts_of_names() {
        for (pattern, name, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c", "a", false),
            ("aa*aa", "aaa", false),
            ("ssh_host_*_key", "ssh_host_rsa_key", true),
            ("ssh_host_*_key", "ssh_host_rsa_key.pub", false),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "a1c2b", false),
        ] {
            assert_eq!(is_like(pattern, name, false), expected, "{pattern} {name}");
        }
        assert!(is_like(".SSH", ".ssh", true) && !is_like(".SSH", ".ssh", false));
    }

    #[test]
    fn a_place_has_an_inside_and_an_above() {
        let fit = |pattern: &str, path: &str| super::fit(pattern, &names(path), false);
        for (pattern, path, expected) in [
            (".ssh", ".ssh", Fit::Within),
            (".ssh", ".ssh/id", Fit::Within),
            (".ssh", "", Fit::Above),
            (".ssh", "ssh", Fit::Apart),
            (".config/gh", ".config", Fit::Above),
            (".config/gh", ".config/ghx", Fit::Apart),
            ("proc/*/environ", "proc/12/environ", Fit::Within),
            ("proc/*/environ", "proc/12", Fit::Above),
            (".git$", ".git", Fit::Within),
            (".git$", ".git/index", Fit::Apart),
            ("m/**/hooks", "m/hooks", Fit::Within),
            ("m/**/hooks", "m/a/b/hooks/x", Fit::Within),
            ("m/**/hooks", "m/a", Fit::Above),
            ("m/**/hooks", "n/a", Fit::Apart),
        ] {
            assert_eq!(fit(pattern, path), expected, "{pattern} {path}");
        }
    }
}
