//! Errors on the wire: every one is a row here, and the reference page is printed from the rows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `{code, message, details?, retryable?}`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ErrorShape")]
pub struct Error {
    /// What kind of failure; most are like HTTP's.
    pub code: i32,
    /// One sentence for a person.
    pub message: String,
    /// Structured context, where a program needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<serde_json::Value>,
    /// Whether the same request may work later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

impl Error {
    /// An error that is not a row of the table: a handler's own words.
    pub fn new(code: i32, message: impl Into<String>) -> Error {
        Error { code, message: message.into(), details: None, retryable: None }
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

    /// The same error with structured context.
    pub fn with_details(mut self, details: serde_json::Value) -> Error {
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
    /// The message, with its holes.
    pub message: &'static str,
    /// When it is answered.
    pub when: &'static str,
}

macro_rules! errors {
    ($( $(#[doc = $when:literal])+ $name:ident($($arg:ident: $ty:ty),*) => $code:literal, $message:literal; )*) => {
        impl Error {
            $( $(#[doc = $when])+ pub fn $name($($arg: $ty),*) -> Error { Error::new($code, format!($message)) } )*
        }
        /// Every row.
        pub static ERRORS: &[Row] = &[$( Row { code: $code, message: $message, when: concat!($($when),+) } ),*];
    };
}

errors! {
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

    /// The caller holds no capability that covers the call, or the call is not for connections.
    permission_denied(call: &str) => 403, "Permission denied: {call}";
    /// A call the kernel makes itself.
    kernel_only(call: &str) => 403, "{call} is kernel-only";
    /// Anything but `sys.connect` before logging in.
    not_connected() => 403, "Must call sys.connect first";
    /// The device is unknown or not the caller's to use.
    device_access_denied(device: &str) => 403, "Access denied to device: {device}";
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
    /// The device has too many calls open, or the caller too many transfers.
    too_busy(what: &str) => 429, "Too many requests: {what}";
    /// Too many failed logins of this user from this address.
    too_many_logins(seconds: i64) => 429, "Too many failed logins: try again in {seconds} seconds";

    /// The gateway has no accounts yet; details say what to call.
    setup_required_text() => 425, "Setup required";

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

impl Error {
    /// Whether a device went away while the call was under way.
    pub fn is_device_disconnected(&self) -> bool {
        let device = self.message.strip_prefix("Device disconnected: ");
        device.is_some_and(|device| *self == Error::device_disconnected(device))
    }

    /// 425 with the details clients look at.
    pub fn setup_required() -> Error {
        Error::setup_required_text()
            .with_details(serde_json::json!({ "setupMode": true, "next": "sys.setup" }))
    }
}
