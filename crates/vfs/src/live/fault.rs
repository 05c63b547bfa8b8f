//! Error translation of virtual files: refusals in fixed words, and the errors of calls as faults.

use crate::fault::{Code, Fault};
use crate::path::VPath;

/// What is said when a live path cannot do something at all: `write`, `append`, `mkdir`, `unlink`, `chmod`,
/// `chown`, `rename`, `symlink`, `utimes`, …
pub fn refusal(op: &'static str, path: &VPath) -> Fault {
    let note = match (op, path.parts().next().unwrap_or_default()) {
        ("mkdir", _) => format!("cannot mkdir in virtual filesystem '{path}'"),
        ("unlink" | "rmdir" | "rm", _) => format!("cannot remove virtual path '{path}'"),
        ("open" | "write", "proc") => "/proc is read-only".to_string(),
        ("open" | "write", "sys") => "read-only region of /sys/".to_string(),
        ("open" | "write", "dev") => format!("cannot write to virtual device '{path}'"),
        ("open" | "write", "usr") => "/usr/share is read-only".to_string(),
        ("append", _) => format!("cannot append to virtual path '{path}'"),
        (op, _) => format!("cannot {op} virtual path '{path}'"),
    };
    Fault::new(Code::NotPermitted, op, path.as_str()).because(note)
}

/// Says which path and what for, where the fault does not.
pub(crate) fn about(mut fault: Fault, op: &'static str, path: &VPath) -> Fault {
    if fault.op.is_empty() {
        fault.op = op;
    }
    if fault.path.is_empty() {
        fault.path = path.as_str().to_string();
    }
    fault
}

/// What a failed call means to somebody who reads.
pub(crate) fn on_read(error: protocol::error::Error) -> Fault {
    of_call(error, Code::Denied)
}

/// What a failed call means to somebody who writes.
pub(crate) fn on_write(error: protocol::error::Error) -> Fault {
    of_call(error, Code::NotPermitted)
}

fn of_call(error: protocol::error::Error, refused: Code) -> Fault {
    let code = match error.code {
        400 | 413 => Code::Invalid,
        401 | 403 => refused,
        404 => Code::NotFound,
        409 => Code::Exists,
        507 => Code::NoSpace,
        _ => Code::Io,
    };
    Fault::new(code, "", "").because(error.message)
}

/// What a failed store means; the details are in the log.
pub(crate) fn of_store(error: store::Error) -> Fault {
    match error {
        store::Error::Conflict(what) => {
            Fault::new(Code::Exists, "", "").because(format!("already exists: {what}"))
        }
        error @ (store::Error::LeaseLost(_) | store::Error::Failed(_)) => {
            tracing::error!(%error, "the store failed behind a live file");
            Fault::new(Code::Io, "", "").because("the store failed: see the gateway's log")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_their_words() {
        let cases = [
            ("write", "/proc/version", "EPERM: /proc is read-only"),
            ("write", "/sys/devices/a/owner", "EPERM: read-only region of /sys/"),
            ("write", "/dev/zero", "EPERM: cannot write to virtual device '/dev/zero'"),
            ("mkdir", "/sys/config/x", "EPERM: cannot mkdir in virtual filesystem '/sys/config/x'"),
            ("unlink", "/proc/self", "EPERM: cannot remove virtual path '/proc/self'"),
            ("chmod", "/etc/passwd", "EPERM: cannot chmod virtual path '/etc/passwd'"),
            ("append", "/proc/version", "EPERM: cannot append to virtual path '/proc/version'"),
        ];
        for (op, path, words) in cases {
            let path = VPath::absolute(path).unwrap();
            assert_eq!(refusal(op, &path).to_string(), words);
        }
    }

    #[test]
    fn errors_of_calls_keep_their_words() {
        let of = |code| on_write(protocol::error::Error::new(code, "why")).to_string();
        assert_eq!(of(403), "EPERM: why");
        assert_eq!(of(400), "EINVAL: why");
        assert_eq!(of(404), "ENOENT: why");
        assert_eq!(of(409), "EEXIST: why");
        assert_eq!(of(503), "EIO: why");
        assert_eq!(on_read(protocol::error::Error::forbidden("no")).to_string(), "EACCES: no");
    }
}
