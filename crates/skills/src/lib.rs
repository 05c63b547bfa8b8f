//! Catalogue of skills: texts in the file tree that tell an agent how to do something, found layer by layer (profile,
//! home, workspace). The shell's command `skills` and the prompts of agents read it.

mod collect;
mod text;

pub use collect::{Skill, collect};
pub use text::normal_name;
