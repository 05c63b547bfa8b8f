//! Tests of the git layer against the git program itself.

mod agree;
mod crash;
mod git_agrees;
mod kit;
mod packs;
mod race;
