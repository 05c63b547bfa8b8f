//! Catalogue of sensitive paths: places that are credentials, and places that are code which runs later.
//!
//! One table ([`PLACES`]) for both ends: `policy` asks what a path in a call is, `device` asks what to hide from confined
//! commands and what to keep read-only for them. Pure: nothing here opens a file; where names on a disk matter, the caller
//! hands in a function that lists a directory.
//!
//! Paths are absolute and lexically resolved (no `.`, `..` or empty names). Symbolic links are the caller's to resolve:
//! the gateway cannot, the device does.

mod classify;
mod pattern;
mod quiet_git;
mod table;
mod view;

pub use classify::{Roots, classify, may_hold, secret_below};
pub use quiet_git::{GIT_SETTINGS, GIT_VARIABLES, git_environment};
pub use table::{At, PLACES, SensitivePlace, Sensitivity};
pub use view::{
    PROTECTED, View, home_inversion, in_workspace_names, is_protected, is_secret_name, to_hide, to_protect,
    view_of,
};
