//! Guard of rehearsals: who may ask for one, and of which device. A driver that does not know the word would run the
//! command, so that it never reaches one.

use gateway::{Caller, Gateway, RoutedCall};
use protocol::args::Members;
use protocol::error::Error;
use protocol::shell::rehearsal::WORD;

/// Refuses what is not a person's, and what goes on with a session.
pub(super) fn check_caller(caller: &Caller, args: &Members<'_>) -> Result<(), Error> {
    if !is_asked(args) {
        return Ok(());
    }
    if caller.origin.is_program() {
        return Err(Error::for_people_only("rehearsing a command"));
    }
    if args.text("sessionId").is_some_and(|id| !id.trim().is_empty()) {
        let why = "text for a running command cannot be rehearsed";
        return Err(Error::bad_argument("shell.exec", WORD, why));
    }
    Ok(())
}

/// Refuses devices that did not announce that they rehearse.
pub(super) fn check_device(gateway: &Gateway, call: &RoutedCall<'_>) -> Result<(), Error> {
    let is_approved = call.caller.permit.as_ref().is_some_and(|permit| permit.rehearsal.is_some());
    if !is_asked(call.args) && !is_approved {
        return Ok(());
    }
    let told = gateway.confinement(&call.caller.identity, &call.device_id.0);
    match told.is_some_and(|told| told.enforces(WORD)) {
        true => Ok(()),
        false => Err(Error::bad_argument(
            "shell.exec",
            WORD,
            &format!(
                "{} cannot rehearse commands: its driver has no sandbox with overlays, see `gsv device check`",
                call.device_id
            ),
        )),
    }
}

/// What is said about commands on the gateway itself.
pub(super) fn only_on_devices() -> Error {
    let why = "only commands on a device can be rehearsed, not on the gateway itself";
    Error::bad_argument("shell.exec", WORD, why)
}

fn is_asked(args: &Members<'_>) -> bool {
    args.get(WORD).is_some_and(|told| told != "null")
}
