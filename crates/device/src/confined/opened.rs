//! Least-privilege widening of a sandbox: exactly the paths that a person approved become visible and writable, and
//! nothing beside them. What cannot be opened alone is refused, so that the person is asked about more.

use std::fs;
use std::path::{Path, PathBuf};

use base::limits::device as limit;
use protocol::confine::Confine;
use sandbox::Spec;

/// Opens what was approved; the error says what can not be, for the question that follows.
pub(super) fn open(spec: &mut Spec, confine: &Confine) -> Result<(), String> {
    for path in &confine.write {
        let path = Path::new(path);
        let real = fs::canonicalize(path).map_err(|_| {
            format!("'{}' does not exist yet, so the sandbox can not be opened for it alone", path.display())
        })?;
        check_same(path, &real)?;
        spec.read_only.retain(|protected| !protected.starts_with(path));
        show(spec, path)?;
    }
    for path in &confine.read {
        let path = Path::new(path);
        // What is not there can not be read anyway.
        let Ok(real) = fs::canonicalize(path) else { continue };
        check_same(path, &real)?;
        show(spec, path)?;
    }
    Ok(())
}

/// The person saw a path, and not where its links lead.
fn check_same(path: &Path, real: &Path) -> Result<(), String> {
    match path == real {
        true => Ok(()),
        false => Err(format!("'{}' leads to '{}'", path.display(), real.display())),
    }
}

/// Takes a path out of what is hidden. What was hidden together with it stays hidden, by its own name.
fn show(spec: &mut Spec, path: &Path) -> Result<(), String> {
    let mut above: Vec<PathBuf> = spec.hidden.extract_if(.., |hidden| path.starts_with(&*hidden)).collect();
    spec.hidden.retain(|hidden| !hidden.starts_with(path));
    for inverted in &mut spec.inverted {
        let dir = inverted.dir.clone();
        let hides = |name: &mut std::ffi::OsString| path.starts_with(dir.join(&*name));
        above.extend(inverted.hide.extract_if(.., hides).map(|name| dir.join(name)));
    }
    above.sort();
    above.dedup();
    for top in above.iter().filter(|top| top.as_path() != path) {
        beside(top, path, &mut spec.hidden)?;
    }
    Ok(())
}

/// Adds everything below `top` that neither is `path` nor leads to it.
fn beside(top: &Path, path: &Path, hidden: &mut Vec<PathBuf>) -> Result<(), String> {
    let levels = path.ancestors().skip(1).take_while(|level| level.starts_with(top));
    for level in levels {
        let names = fs::read_dir(level).map_err(|error| format!("'{}': {error}", level.display()))?;
        for name in names {
            let found = name.map_err(|error| format!("'{}': {error}", level.display()))?.path();
            if !path.starts_with(&found) {
                hidden.push(found);
            }
        }
        if hidden.len() > limit::HIDDEN_MAX {
            return Err(format!("'{}' holds too much to hide all of it but one thing", top.display()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use protocol::confine::Way;
    use sandbox::Inverted;

    use super::*;

    fn confine(write: &[&Path], read: &[&Path]) -> Confine {
        let texts = |paths: &[&Path]| paths.iter().map(|path| path.display().to_string()).collect();
        let (write, read) = (texts(write), texts(read));
        Confine {
            pid: "p".into(),
            run: None,
            way: Way::Confined,
            write,
            read,
            hosts: Vec::new(),
            rehearsal: None,
        }
    }

    #[test]
    fn only_what_was_named_is_shown() {
        let data = tempfile::Builder::new().prefix("home-").tempdir().expect("a directory");
        let home = data.path().canonicalize().expect("a path");
        let ssh = home.join(".ssh");
        fs::create_dir_all(ssh.join("keys")).expect("a directory");
        for name in ["config", "id", "keys/one", "keys/two"] {
            fs::write(ssh.join(name), "x").expect("a file");
        }
        let mut spec = Spec::new(vec!["/bin/true".into()], home.join("work"), home.join("tmp"));
        spec.hidden = vec![ssh.clone(), home.join(".gnupg")];
        spec.inverted = vec![Inverted { dir: home.clone(), hide: vec![".ssh".into(), ".aws".into()] }];
        open(&mut spec, &confine(&[], &[&ssh.join("keys/one"), &home.join("missing")])).expect("opened");
        spec.hidden.sort();
        let expected = [".gnupg", ".ssh/config", ".ssh/id", ".ssh/keys/two"].map(|name| home.join(name));
        assert_eq!(spec.hidden, expected);
        assert_eq!(spec.inverted[0].hide, [".aws"]);
        open(&mut spec, &confine(&[], &[&ssh.join("config")])).expect("opened");
        assert!(!spec.hidden.contains(&ssh.join("config")) && spec.hidden.contains(&ssh.join("id")));
    }

    #[test]
    fn what_can_not_be_opened_alone_is_refused() {
        let data = tempfile::Builder::new().prefix("home-").tempdir().expect("a directory");
        let home = data.path().canonicalize().expect("a path");
        let mut spec = Spec::new(vec!["/bin/true".into()], home.join("work"), home.join("tmp"));
        let missing = open(&mut spec, &confine(&[&home.join("new")], &[]));
        assert!(missing.is_err_and(|why| why.contains("does not exist yet")));
        fs::write(home.join("a"), "x").expect("a file");
        std::os::unix::fs::symlink(home.join("a"), home.join("link")).expect("a link");
        let led = open(&mut spec, &confine(&[&home.join("link")], &[]));
        assert!(led.is_err_and(|why| why.contains("leads to")));
        spec.read_only = vec![home.join("a"), home.join("b")];
        open(&mut spec, &confine(&[&home.join("a")], &[])).expect("opened");
        assert_eq!(spec.read_only, [home.join("b")]);
    }
}
