//! Terminal library of the command line: output, failures, text layout, escaping, the line editor, the password prompt,
//! Ctrl-C. `gsv` and `chat` share it; it makes no calls.

pub mod escape;
pub mod exact;
pub mod failure;
pub mod hangup;
pub mod interrupts;
pub mod layout;
pub mod line_editor;
pub mod output;
pub mod password_prompt;
pub mod times;
