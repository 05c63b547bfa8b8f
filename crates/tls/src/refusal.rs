//! Error translation of TLS failures: why, in words for a person, and what to do about it.

use std::error::Error;
use std::fmt;
use std::io;

use rustls::CertificateError as Fault;

/// Why there is no TLS to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong, such as `its certificate has expired`.
    pub why: String,
    /// What to do about it.
    pub hint: String,
    /// Whether it is the other side's certificate that was refused.
    pub of_certificate: bool,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.why, self.hint)
    }
}

impl Refusal {
    /// What the deepest cause of an error means. `problem` is what of the environment could not be used.
    pub(crate) fn of(error: &(dyn Error + 'static), problem: Option<&str>) -> Option<Refusal> {
        match cause(error)? {
            rustls::Error::InvalidCertificate(fault) => Some(of_certificate(fault, problem)),
            rustls::Error::InvalidMessage(_) => Some(Refusal {
                why: "it does not speak TLS".to_owned(),
                hint: "without TLS the address begins with http:// or ws://".to_owned(),
                of_certificate: false,
            }),
            other => Some(Refusal {
                why: format!("TLS failed: {other}"),
                hint: "see what the other side says of it".to_owned(),
                of_certificate: false,
            }),
        }
    }
}

fn of_certificate(fault: &Fault, problem: Option<&str>) -> Refusal {
    let name_authority =
        || "if the authority is your own, name its certificate with SSL_CERT_FILE".to_owned();
    let (why, hint) = match fault {
        Fault::UnknownIssuer => (
            "its certificate is not signed by an authority that is trusted here".to_owned(),
            name_authority(),
        ),
        Fault::NotValidForName => {
            ("its certificate is for another name".to_owned(), "use the name it was made for".to_owned())
        }
        Fault::NotValidForNameContext { presented, .. } => (
            match presented.is_empty() {
                true => "its certificate names no host".to_owned(),
                false => format!("its certificate is for another name: {}", names(presented)),
            },
            "use the name it was made for".to_owned(),
        ),
        Fault::Expired | Fault::ExpiredContext { .. } => (
            "its certificate has expired".to_owned(),
            "renew it, or set the clock of this machine".to_owned(),
        ),
        Fault::NotValidYet | Fault::NotValidYetContext { .. } => (
            "its certificate is not valid yet".to_owned(),
            "wait for it, or set the clock of this machine".to_owned(),
        ),
        other => (format!("its certificate is refused: {other}"), name_authority()),
    };
    let hint = problem.map_or(hint, |problem| problem.to_owned());
    Refusal { why, hint, of_certificate: true }
}

/// Names as people write them, a few of them.
fn names(presented: &[String]) -> String {
    let bare = |name: &String| {
        let inner = name.split_once("(\"").and_then(|(_, rest)| rest.split_once("\")"));
        inner.map_or_else(|| name.clone(), |(inner, _)| inner.to_owned())
    };
    let mut names: Vec<String> = presented.iter().take(5).map(bare).collect();
    if presented.len() > names.len() {
        names.push("…".to_owned());
    }
    names.join(", ")
}

/// The error of TLS inside of another; one of I/O may hold it without naming it as its source.
fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match held {
            Some(held) => Some(held),
            None => error.source(),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(fault: Fault, problem: Option<&str>) -> String {
        let error = io::Error::other(rustls::Error::InvalidCertificate(fault));
        let nested = io::Error::other(error);
        Refusal::of(&nested, problem).map(|refusal| refusal.to_string()).unwrap_or_default()
    }

    #[test]
    fn each_fault_has_its_words() {
        assert!(told(Fault::UnknownIssuer, None).contains("SSL_CERT_FILE)"));
        assert!(
            told(Fault::UnknownIssuer, Some("SSL_CERT_FILE=x holds no certificate")).contains("=x holds")
        );
        let other = Fault::NotValidForNameContext {
            expected: rustls::pki_types::ServerName::try_from("here").unwrap(),
            presented: vec!["DnsName(\"gsv.example\")".to_owned(), "IpAddress(127.0.0.1)".to_owned()],
        };
        assert!(told(other, None).starts_with("its certificate is for another name: gsv.example, IpAddress"));
        assert!(told(Fault::Expired, None).contains("expired"));
        assert!(told(Fault::Revoked, None).starts_with("its certificate is refused"));
    }

    #[test]
    fn other_errors_are_not_ours() {
        assert_eq!(Refusal::of(&io::Error::other("no route"), None), None);
        let plain = rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType);
        assert_eq!(Refusal::of(&plain, None).unwrap().why, "it does not speak TLS");
    }
}
