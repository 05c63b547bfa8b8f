//! Tests of the git layer against the git program itself.

mod agree;
mod crash;
mod git_agrees;
mod git_histories;
mod housekeeping;
mod kit;
mod libgit2;
mod oracle;
mod packs;
mod race;
