//! Trust store: the bundled authorities that browsers trust, and those in the files that `SSL_CERT_FILE` and
//! `SSL_CERT_DIR` name. A file that cannot be used takes nothing away; it is told of when a certificate is refused.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::limits;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

/// What is trusted, ready to be used.
pub struct Roots {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) http_config: Arc<ClientConfig>,
    /// What of the environment could not be used.
    pub(crate) problem: Option<String>,
}

impl Roots {
    /// The bundled authorities and those of a file and of directories, as the two variables name them.
    pub fn new(file: Option<OsString>, directories: Option<OsString>) -> Roots {
        let mut found = ExtraRoots::default();
        if let Some(file) = file.filter(|file| !file.is_empty()) {
            found.take_file(Path::new(&file));
        }
        for directory in directories.iter().flat_map(std::env::split_paths) {
            if !directory.as_os_str().is_empty() {
                found.take_directory(&directory);
            }
        }
        let mut store = RootCertStore::empty();
        store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        store.add_parsable_certificates(found.certificates);
        let config = config(store);
        let mut http_config = config.clone();
        http_config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Roots { config: Arc::new(config), http_config: Arc::new(http_config), problem: found.problem }
    }
}

fn config(store: RootCertStore) -> ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    match ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions() {
        Ok(builder) => builder.with_root_certificates(store).with_no_client_auth(),
        Err(error) => panic!("ring speaks no version of TLS: {error}"),
    }
}

/// What the environment adds.
#[derive(Default)]
struct ExtraRoots {
    certificates: HashSet<CertificateDer<'static>>,
    problem: Option<String>,
    bytes: u64,
}

impl ExtraRoots {
    fn take_file(&mut self, path: &Path) {
        match self.certificates_of(path) {
            Ok(0) => self.complain(format!("SSL_CERT_FILE={} holds no certificate", path.display())),
            Ok(_) => {}
            Err(error) => self.complain(format!("SSL_CERT_FILE={} cannot be read: {error}", path.display())),
        }
    }

    /// Such directories hold other things beside certificates, which are passed over.
    fn take_directory(&mut self, directory: &Path) {
        let complaint =
            |error: &io::Error| format!("SSL_CERT_DIR={} cannot be read: {error}", directory.display());
        let entries = match std::fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) => return self.complain(complaint(&error)),
        };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut files: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
        files.sort_unstable();
        for file in files.iter().take(limits::tls::ROOT_FILES_MAX) {
            if let Err(error) = self.certificates_of(file) {
                self.complain(complaint(&error));
            }
        }
    }

    /// How many certificates a file holds; those that cannot be read are not counted.
    fn certificates_of(&mut self, path: &Path) -> io::Result<usize> {
        let mut text = Vec::new();
        let room = limits::tls::ROOTS_MAX_BYTES - self.bytes;
        File::open(path)?.take(room + 1).read_to_end(&mut text)?;
        if text.len() as u64 > room {
            let why = format!("more than {} bytes of certificates", limits::tls::ROOTS_MAX_BYTES);
            return Err(io::Error::other(why));
        }
        self.bytes += text.len() as u64;
        let found: Vec<_> = CertificateDer::pem_slice_iter(&text).filter_map(Result::ok).collect();
        let count = found.len();
        self.certificates.extend(found);
        Ok(count)
    }

    /// The first complaint says most.
    fn complain(&mut self, why: String) {
        self.problem.get_or_insert(why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authority() -> String {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        parameters.self_signed(&key).unwrap().pem()
    }

    fn found(file: Option<&Path>, directory: Option<&Path>) -> ExtraRoots {
        let mut found = ExtraRoots::default();
        file.into_iter().for_each(|file| found.take_file(file));
        directory.into_iter().for_each(|directory| found.take_directory(directory));
        found
    }

    #[test]
    fn files_and_directories_add_their_certificates_once() {
        let home = tempfile::tempdir().unwrap();
        let (first, second) = (authority(), authority());
        let bundle = home.path().join("bundle.pem");
        std::fs::write(&bundle, format!("# ours\n{first}\n{second}")).unwrap();
        let directory = home.path().join("certs");
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("first.pem"), &first).unwrap();
        std::os::unix::fs::symlink("first.pem", directory.join("0a1b2c3d.0")).unwrap();
        std::fs::write(directory.join("README"), "no certificate").unwrap();
        let both = found(Some(&bundle), Some(&directory));
        assert_eq!((both.certificates.len(), both.problem), (2, None));
        let one = found(None, Some(&directory));
        assert_eq!((one.certificates.len(), one.problem), (1, None));
        let named = Roots::new(Some(bundle.into()), Some(directory.into()));
        assert!(named.problem.is_none());
    }

    #[test]
    fn what_cannot_be_used_is_told() {
        let home = tempfile::tempdir().unwrap();
        let missing = found(Some(&home.path().join("none.pem")), None).problem.unwrap();
        assert!(missing.starts_with("SSL_CERT_FILE=") && missing.contains("cannot be read"), "{missing}");
        let empty = home.path().join("empty.pem");
        std::fs::write(&empty, "nothing").unwrap();
        assert!(found(Some(&empty), None).problem.unwrap().ends_with("holds no certificate"));
        assert!(found(None, Some(&home.path().join("none"))).problem.unwrap().starts_with("SSL_CERT_DIR="));
        let huge = File::create(home.path().join("huge.pem")).unwrap();
        huge.set_len(limits::tls::ROOTS_MAX_BYTES + 1).unwrap();
        assert!(found(None, Some(home.path())).problem.unwrap().contains("more than"));
        assert!(Roots::new(Some("".into()), Some("".into())).problem.is_none());
    }
}
