//! User notices about an answer, such as that it was cut. They are told with the end of the run and kept in the
//! conversation, where the model reads them too.

use model::{AssistantMessage, StopReason};
use protocol::ids::Uid;

use crate::context::Context;
use crate::setup::Setup;

/// What is to be said of an answer that was given in this context.
pub(crate) fn of_answer(
    setup: &Setup,
    uid: Uid,
    context: &Context,
    answer: &AssistantMessage,
) -> Vec<String> {
    let hidden = (context.hidden_pictures() > 0).then(|| hidden_pictures(setup, uid));
    let cut = (answer.stop_reason == StopReason::Length).then(|| cut(setup, uid));
    hidden.into_iter().chain(cut).collect()
}

/// That an answer reached the longest it may be, and how to allow longer ones.
pub(crate) fn cut(setup: &Setup, uid: Uid) -> String {
    let most = setup.max_tokens;
    if setup.model.max_output_tokens == Some(most) {
        return format!("The answer was cut: {} writes at most {most} tokens at a time.", setup.model.id);
    }
    format!(
        "The answer was cut at {most} tokens (config/ai/max_tokens). Allow longer ones with: \
         gsv config set users/{uid}/ai/max_tokens NUMBER"
    )
}

/// That the model did not see a picture, and how to show it pictures.
fn hidden_pictures(setup: &Setup, uid: Uid) -> String {
    let model = &setup.model.id;
    format!(
        "{model} was not shown the picture: it is not known to take pictures. If it does: \
         gsv config set users/{uid}/ai/input text,image"
    )
}
