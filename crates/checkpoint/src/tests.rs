//! Tests that need to stop the program, or to fill the disk, in the middle.

mod crash;
mod full_disk;
mod kit;
mod progress;
mod race;
mod room;
mod torn;
