//! Error type of generations: why there is no answer, in words for a person and as a cause for the program.

use std::fmt;
use std::time::Duration;

/// What kind of trouble it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Somebody cancelled the generation.
    Aborted,
    /// The key is missing or was refused.
    Key,
    /// Too many requests, or the account is out of credit.
    RateLimit,
    /// The provider has too much to do.
    Overloaded,
    /// The messages do not fit into the model.
    ContextOverflow,
    /// It took too long.
    Timeout,
    /// The provider could not be reached, or the connection broke.
    Network,
    /// The model or its provider declined to answer.
    Refused,
    /// The provider did not understand the request.
    Request,
    /// The provider had a fault of its own, or what it sent made no sense.
    Provider,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind of trouble it was.
    pub cause: Cause,
    /// The same in words.
    pub message: String,
    pub(crate) retry: Retry,
}

/// Whether asking again may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retry {
    Never,
    Soon,
    After(Duration),
}

impl Failure {
    /// Trouble that asking again does not help.
    pub fn new(cause: Cause, message: impl Into<String>) -> Failure {
        Failure { cause, message: message.into(), retry: Retry::Never }
    }

    pub(crate) fn passing(cause: Cause, message: impl Into<String>) -> Failure {
        Failure { cause, message: message.into(), retry: Retry::Soon }
    }

    pub(crate) fn aborted() -> Failure {
        Failure::new(Cause::Aborted, "Request was aborted")
    }

    pub(crate) fn timed_out(limit: Duration) -> Failure {
        Failure::new(Cause::Timeout, format!("Model generation timed out after {}ms", limit.as_millis()))
    }

    pub(crate) fn broken_off() -> Failure {
        Failure::new(Cause::Network, "The provider closed the stream before the answer was complete")
    }

    pub(crate) fn unreadable(what: impl fmt::Display) -> Failure {
        Failure::new(Cause::Provider, format!("The provider sent something unreadable: {what}"))
    }

    /// The cause as somebody sees it who used a service of ours: a bad request to the provider is not the caller's fault.
    pub(crate) fn cause_of_service(&self) -> Cause {
        if self.cause == Cause::Request { Cause::Provider } else { self.cause }
    }

    /// An error that a provider reports by a code of its own inside a stream.
    pub(crate) fn reported(code: &str, message: &str) -> Failure {
        let text = match (code, message) {
            ("", "") => "The provider reported an error without saying which".to_owned(),
            (code, "") => code.to_owned(),
            ("", message) => message.to_owned(),
            (code, message) => format!("{code}: {message}"),
        };
        let cause = if overflows(code) || overflows(message) {
            Cause::ContextOverflow
        } else {
            match code {
                "overloaded_error"
                | "overloaded"
                | "server_is_overloaded"
                | "UNAVAILABLE"
                | "503"
                | "529" => Cause::Overloaded,
                "rate_limit_error" | "rate_limit_exceeded" | "RESOURCE_EXHAUSTED" | "429" => Cause::RateLimit,
                "authentication_error" | "permission_error" | "invalid_api_key" | "401" | "403" => Cause::Key,
                "invalid_request_error" | "INVALID_ARGUMENT" | "400" => Cause::Request,
                _ => Cause::Provider,
            }
        };
        match cause {
            Cause::Overloaded | Cause::RateLimit | Cause::Provider => Failure::passing(cause, text),
            _ => Failure::new(cause, text),
        }
    }

    /// What an answer with an error status means. `message` is the provider's own text.
    pub(crate) fn of_status(
        status: http::StatusCode,
        message: &str,
        retry_after: Option<Duration>,
    ) -> Failure {
        let number = status.as_u16();
        let text = match message {
            "" => format!("{number} {}", status.canonical_reason().unwrap_or("without a reason")),
            message => format!("{number} {message}"),
        };
        let cause = match number {
            _ if number < 500 && overflows(message) => Cause::ContextOverflow,
            401 | 403 => Cause::Key,
            402 | 429 => Cause::RateLimit,
            413 => Cause::ContextOverflow,
            503 | 529 => Cause::Overloaded,
            408 | 504 => Cause::Timeout,
            400..=499 => Cause::Request,
            _ => Cause::Provider,
        };
        let retry = match (number, retry_after) {
            (408 | 429 | 500..=599, Some(pause)) => Retry::After(pause),
            (408 | 429 | 500..=599, None) => Retry::Soon,
            _ => Retry::Never,
        };
        Failure { cause, message: text, retry }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// The words by which providers say that the messages do not fit.
fn overflows(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "prompt is too long",
        "context_length_exceeded",
        "maximum context length",
        "exceeds the context window",
        "exceeds the maximum number of tokens",
        "context window",
        "input token count",
        "request_too_large",
        "exceed_context_size",
    ];
    let text = text.to_lowercase();
    WORDS.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_causes() {
        let of = |number, text| {
            Failure::of_status(http::StatusCode::from_u16(number).expect("a status"), text, None)
        };
        assert_eq!(of(401, "no").cause, Cause::Key);
        assert_eq!(of(429, "").retry, Retry::Soon);
        assert_eq!(of(429, "").message, "429 Too Many Requests");
        assert_eq!(of(529, "Overloaded").cause, Cause::Overloaded);
        assert_eq!(of(400, "prompt is too long: 210000 tokens").cause, Cause::ContextOverflow);
        assert_eq!(of(400, "bad").retry, Retry::Never);
    }
}
