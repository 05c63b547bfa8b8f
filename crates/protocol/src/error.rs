//! Error catalogue of the wire: every error is a row here, and the reference page is printed from the rows.
//!
//! The name of a row is its reason. Programs branch on that (`details.reason`) and never on the wording, which is for
//! people and may change.

mod wire;

use serde_json::Value;

/// `{code, message, details: {reason, …}, retryable?}`
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// What kind of failure; most are like HTTP's.
    pub code: i32,
    /// Why, for programs.
    pub reason: Reason,
    /// One sentence for a person.
    pub message: String,
    /// What stands beside the reason, where a program needs more.
    pub details: Option<Value>,
    /// Whether the same request may work later.
    pub retryable: Option<bool>,
}

impl Error {
    /// An error that is not a row of the table: a handler's own words. Its reason follows from the code.
    pub fn new(code: i32, message: impl Into<String>) -> Error {
        Error::of(Reason::of_code(code), code, message.into())
    }

    fn of(reason: Reason, code: i32, message: String) -> Error {
        Error { code, reason, message, details: None, retryable: None }
    }

    /// 400 in a handler's own words; name the field.
    pub fn bad(message: impl Into<String>) -> Error {
        Error::new(400, message)
    }

    /// 403 in a handler's own words.
    pub fn forbidden(message: impl Into<String>) -> Error {
        Error::new(403, message)
    }

    /// 404 in a handler's own words.
    pub fn not_found(message: impl Into<String>) -> Error {
        Error::new(404, message)
    }

    /// 409 in a handler's own words.
    pub fn conflict(message: impl Into<String>) -> Error {
        Error::new(409, message)
    }

    /// The same error with structured context beside its reason.
    pub fn with_details(mut self, details: Value) -> Error {
        self.details = Some(details);
        self
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} (code {})", self.message, self.code)
    }
}

impl std::error::Error for Error {}

/// One row of the error table.
pub struct Row {
    /// The code on the wire.
    pub code: i32,
    /// What programs branch on.
    pub reason: Reason,
    /// The message, with its holes.
    pub message: &'static str,
    /// When it is answered.
    pub when: &'static str,
}

/// What a code stands for when an error is not a row but a handler's own words.
pub struct OwnWords {
    /// The code on the wire.
    pub code: i32,
    /// What programs branch on.
    pub reason: Reason,
    /// When it is answered.
    pub when: &'static str,
}

macro_rules! errors {
    (
        own words { $( $(#[doc = $of_code:literal])+ $own:ident => $own_code:literal; )* }
        $(
            $(#[doc = $when:literal])+
            $name:ident($($arg:ident: $ty:ty),*) => $code:literal, $message:literal $(, $details:tt)?;
        )*
    ) => {
        /// Why a call failed, for programs: the name of the error's row.
        #[allow(non_camel_case_types, reason = "a reason is spelled as on the wire, so that a row is written once")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Reason {
            $( $(#[doc = $of_code])+ $own, )*
            $( $(#[doc = $when])+ $name, )*
        }

        impl Reason {
            /// Every reason.
            pub const ALL: &[Reason] = &[$( Reason::$own, )* $( Reason::$name, )*];

            /// As it stands on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $( Reason::$own => stringify!($own), )*
                    $( Reason::$name => stringify!($name), )*
                }
            }

            /// That of an error which is a handler's own words.
            fn of_code(code: i32) -> Reason {
                match code {
                    $( $own_code => Reason::$own, )*
                    _ => Reason::failed,
                }
            }
        }

        impl Error {
            $(
                $(#[doc = $when])+
                pub fn $name($($arg: $ty),*) -> Error {
                    Error::of(Reason::$name, $code, format!($message))
                        $( .with_details(serde_json::json!($details)) )?
                }
            )*
        }

        /// Every row.
        pub static ERRORS: &[Row] = &[$(
            Row { code: $code, reason: Reason::$name, message: $message, when: concat!($($when),+) }
        ),*];

        /// What stands for errors that are no rows, by their code.
        pub static OWN_WORDS: &[OwnWords] = &[$(
            OwnWords { code: $own_code, reason: Reason::$own, when: concat!($($of_code),+) }
        ),*];
    };
}

errors! {
    own words {
        /// An argument that the call cannot work with.
        bad_request => 400;
        /// Not logged in, or not well enough.
        unauthorized => 401;
        /// The caller may not do this.
        forbidden => 403;
        /// What the call is about is not there.
        not_found => 404;
        /// What the call is about is not in a state for it.
        conflict => 409;
        /// What the call is about was there and is no more.
        gone => 410;
        /// What was given, or would have to be answered, is too large.
        payload_too_large => 413;
        /// There is too much of it already.
        too_many_requests => 429;
        /// Something that is needed is away or not configured.
        unavailable => 503;
        /// Something that is needed did not answer in time.
        timed_out => 504;
        /// Anything else.
        failed => 500;
    }

    /// `sys.connect` asks for a protocol other than 1.
    unsupported_protocol() => 102, "Unsupported protocol version";
    /// `sys.connect` names a role that does not exist.
    invalid_role() => 103, "Invalid client role";
    /// A driver connects without saying what it implements.
    implements_required() => 103, "Driver role requires implements list";
    /// A driver lists a pattern that is not a capability pattern.
    invalid_implements(pattern: &str) => 103, "Invalid implements pattern: {pattern}";
    /// A service connects without a channel.
    channel_required() => 103, "Service role requires channel field";
    /// `client.id` is empty, too long or has control characters, where an id is needed.
    invalid_client_id() => 103, "Invalid client id: 1 to 200 bytes, no control characters";
    /// A driver connects for the first time under a `client.id` that no device may have; the text says what is allowed.
    invalid_device_id(rule: &str) => 103, "Invalid device id: {rule}";

    /// The text is not JSON. The answer's id is `?` and the socket stays open.
    malformed_json() => 400, "Malformed JSON";
    /// JSON whose `type` is not `req`, `res` or `sig`. The answer's id is `?`.
    invalid_frame_type() => 400, "Invalid frame type";
    /// A frame lacks a field, or the field has the wrong type.
    invalid_frame(field: &str) => 400, "Invalid frame: {field}";
    /// An argument that must be there is not.
    missing_argument(call: &str, field: &str) => 400, "{call} requires {field}";
    /// An argument has the wrong type or an impossible value.
    bad_argument(call: &str, field: &str, why: &str) => 400, "{call}: {field}: {why}";
    /// The device is there but does not offer the call.
    not_implemented_by_device(device: &str, call: &str) => 400, "Device {device} does not implement {call}";
    /// `sessionId` and `target` name different devices.
    session_target_mismatch() => 400, "Shell session target does not match the requested target";

    /// `sys.connect` without `auth`; also how clients ask whether setup is needed. Never counted as a failed login.
    authentication_required() => 401, "Authentication required";
    /// `auth.username` is empty.
    username_required() => 401, "Username required";
    /// Both a password and a token are given.
    either_password_or_token() => 401, "Provide either password or token";
    /// A driver or service connects without a token.
    token_required() => 401, "Token required for machine connections";
    /// A user connects with neither password nor token.
    credential_required() => 401, "Password or token required";
    /// Unknown user, wrong password, or a token that is unknown, revoked, expired or for something else.
    authentication_failed() => 401, "Authentication failed";
    /// A driver connects with a token of its user that is alive and bound to another device; `details.deviceId` names it.
    token_of_other_device(device: &str) => 401, "Authentication failed: the token is for the device {device}";

    /// The caller holds no capability that covers the call, or the call is not for connections.
    permission_denied(call: &str) => 403, "Permission denied: {call}";
    /// A call the kernel makes itself.
    kernel_only(call: &str) => 403, "{call} is kernel-only";
    /// An agent does what no policy can allow one; the text names the call or the setting.
    for_people_only(what: &str) => 403, "Permission denied: {what} is for people, an agent can never do it";
    /// The login may not answer approvals, and this is for those that may.
    approving_login_required(what: &str) => 403, "Permission denied: {what} needs a login that may answer approvals: log in with your password, or make a token with `gsv auth token create --kind user --approve`";
    /// A driver refuses a call of an agent before anything of it was done, because a person has to be asked first. The
    /// gateway then asks.
    approval_required(why: &str) => 403, "Not allowed without approval: {why}";
    /// Anything but `sys.connect` before logging in.
    not_connected() => 403, "Must call sys.connect first";
    /// The device is unknown or not the caller's to use.
    device_access_denied(device: &str) => 403, "Access denied to device: {device}";
    /// A service connects as a user who is neither root nor in the group `services`, with a token that is good otherwise.
    services_only() => 403, "Permission denied: service tokens are for root and members of the group services";
    /// `sys.setup` or `sys.setup.assist` from another machine, or through a proxy, without `code`.
    setup_code_required() => 403, "Setup from another machine needs the setup code that the gateway printed when it started", { "setupMode": true, "codeRequired": true };
    /// The same with a `code` that is not the gateway's. It makes a new one at every start.
    setup_code_wrong() => 403, "The setup code is not the one that the gateway printed when it started", { "setupMode": true, "codeRequired": true };
    /// A driver connects under a device id that belongs to another user.
    device_taken(device: &str) => 403, "Device id belongs to another user: {device}";

    /// No such call, asked by somebody whose capabilities cover the name.
    unknown_syscall(call: &str) => 404, "Unknown syscall: {call}";
    /// The session does not exist, is older than 24 hours, or is another user's.
    unknown_session(session: &str) => 404, "Unknown shell session: {session}";
    /// A driver is asked again for the result of a call that never reached it: it may be made now.
    call_never_seen() => 404, "Call never seen";
    /// Root names a device that does not exist.
    unknown_device(device: &str) => 404, "Unknown device: {device}";

    /// `sys.connect` or `sys.setup` on a socket that is logged in.
    already_connected() => 409, "Already connected";
    /// `sys.setup` on a system that has been set up.
    already_initialized() => 409, "System already initialized";

    /// A driver is asked again for the result of a call that it has forgotten, or may have.
    call_forgotten() => 410, "Call forgotten";

    /// The message is larger than the gateway takes. The answer's id is `?` and the socket stays open.
    too_large(limit: usize) => 413, "Message too large: the limit is {limit} bytes";
    /// A driver has as many requests as it takes; it has not looked at this one.
    device_busy() => 429, "Too many requests: the device works on as many as it can";
    /// The gateway has as many calls open on the device as it keeps; this one was not sent.
    device_calls_full() => 429, "Too many requests: the device has too many calls open";
    /// A device's answer is larger than the gateway takes.
    answer_too_large(bytes: u64, limit: usize) => 413, "The device's answer has {bytes} bytes, the limit is {limit}: ask for less, or use gsv cp";
    /// The caller has too many of something open.
    too_busy(what: &str) => 429, "Too many requests: {what}";
    /// Too many failed logins of this user from this address.
    too_many_logins(seconds: i64) => 429, "Too many failed logins: try again in {seconds} seconds";

    /// The gateway has no accounts yet; details say what to call.
    setup_required() => 425, "Setup required", { "setupMode": true, "next": "sys.setup" };

    /// A fault of our own; the log has the details under the request's id.
    internal(detail: &str) => 500, "Internal error: {detail}";
    /// The call is documented but this version does not carry it out yet.
    not_implemented(call: &str) => 501, "Not implemented: {call}";

    /// The device is known but not connected.
    device_offline(device: &str) => 503, "Device offline: {device}";
    /// The device counts as online but has no socket.
    no_connection(device: &str) => 503, "No active connection for device: {device}";
    /// The device went away while the call was under way.
    device_disconnected(device: &str) => 503, "Device disconnected: {device}";
    /// The service went away while it was asked.
    service_disconnected(service: &str) => 503, "Service disconnected: {service}";
    /// The gateway is stopping.
    stopping() => 503, "The gateway is shutting down";

    /// The device did not answer in time.
    route_timeout(call: &str, device: &str) => 504, "Syscall {call} timed out (device: {device})";
    /// The service did not answer in time.
    service_timeout(call: &str, service: &str) => 504, "Syscall {call} timed out (service: {service})";
    /// The store failed; nothing was changed. Its disk may be full.
    store_failed(why: &str) => 507, "The store could not be written: {why}";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_one_of_a_row_or_of_a_code() {
        let mut names: Vec<&str> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
        assert_eq!(names.len(), ERRORS.len() + OWN_WORDS.len());
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Reason::ALL.len(), "each has a name of its own");
    }

    #[test]
    fn what_is_no_row_has_the_reason_of_its_code() {
        assert_eq!(Error::bad("x").reason, Reason::bad_request);
        assert_eq!(Error::forbidden("x").reason, Reason::forbidden);
        assert_eq!(Error::not_found("x").reason, Reason::not_found);
        assert_eq!(Error::conflict("x").reason, Reason::conflict);
        assert_eq!(Error::new(418, "x").reason, Reason::failed);
    }
}
