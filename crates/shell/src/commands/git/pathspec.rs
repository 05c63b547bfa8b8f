//! Paths that a command is limited to, as seen from the top of a repository.

/// Files and directories that are wanted; all when there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pathspec {
    paths: Vec<String>,
}

impl Pathspec {
    /// These; an empty one is everything.
    pub(super) fn new(paths: Vec<String>) -> Pathspec {
        if paths.iter().any(String::is_empty) { Pathspec::default() } else { Pathspec { paths } }
    }

    /// The paths, none for everything.
    pub(super) fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Whether a file is wanted.
    pub(super) fn matches(&self, path: &str) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|wanted| is_within(path, wanted))
    }

    /// Whether something below a directory may be wanted.
    pub(super) fn may_be_below(&self, directory: &str) -> bool {
        self.matches(directory) || self.paths.iter().any(|wanted| is_within(wanted, directory))
    }
}

/// Whether a path is another or below it.
pub(super) fn is_within(path: &str, above: &str) -> bool {
    above.is_empty() || path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_hold_what_is_below_them() {
        let spec = Pathspec::new(vec!["a/b".to_string()]);
        assert!(spec.matches("a/b") && spec.matches("a/b/c") && !spec.matches("a/bc") && !spec.matches("a"));
        assert!(spec.may_be_below("a") && spec.may_be_below("a/b") && !spec.may_be_below("x"));
        assert!(Pathspec::new(vec![String::new()]).matches("x"));
    }
}
