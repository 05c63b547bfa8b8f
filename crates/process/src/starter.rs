//! Provenance of a run: whether a person, or a schedule of theirs, said what it is about. Remembered approvals are a
//! person's word for their own tasks; another agent that sends a message must not borrow it.

use protocol::proc::history::MessageRole;
use serde::Deserialize;

/// Who a message came from, as it is kept with it; see `gateway::Origin::describe`.
#[derive(Deserialize)]
struct MessageOrigin {
    kind: String,
}

/// Whether a message is a person's, or a schedule's of theirs. What happened to the process by itself, such as the reply
/// of another one, is not, and neither is what nobody can tell.
pub(crate) fn is_person(role: MessageRole, origin: Option<&str>) -> bool {
    match origin {
        _ if role != MessageRole::User => false,
        // Only what a person does inside the gateway, such as a command of the native shell, has none.
        None => true,
        Some(origin) => match serde_json::from_str::<MessageOrigin>(origin) {
            Ok(origin) => matches!(origin.kind.as_str(), "client" | "adapter" | "scheduler"),
            Err(_) => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_people_and_schedules_start_what_remembered_approvals_serve() {
        let user = |origin| is_person(MessageRole::User, origin);
        assert!(user(None) && user(Some(r#"{"kind":"client","clientId":"c"}"#)));
        assert!(user(Some(r#"{"kind":"adapter"}"#)) && user(Some(r#"{"kind":"scheduler"}"#)));
        for other in
            [r#"{"kind":"process","sourcePid":"p2"}"#, r#"{"kind":"app"}"#, r#"{"kind":"new"}"#, "{}", "x"]
        {
            assert!(!user(Some(other)), "{other}");
        }
        assert!(!is_person(MessageRole::System, None));
    }
}
