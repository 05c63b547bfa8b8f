//! Git repository subsystem: `repo.*` over real bare repositories, made and read without the git program.
//!
//! [`Repos`] is the area: which repositories there are, whose, and who may read and write them. `git` is what is known
//! of git itself, and knows nothing of the gateway. [`Slug`] is the checked `owner/name` everything begins with.

mod access;
mod admission;
mod calls;
mod commits;
mod committer;
mod faults;
mod git;
mod housekeeping;
mod http;
mod import;
mod public;
mod quota;
mod repos;
mod slug;
mod subsystem;
mod turns;
mod versions;
mod workspaces;

#[cfg(test)]
mod tests;

pub use commits::{Author, Edit};
pub use repos::{Found, Repos};
pub use slug::Slug;
