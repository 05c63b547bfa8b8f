//! Progress bar on stderr, for a person at a terminal.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use terminal::output::clean;

const LOOK: &str = "{msg:30!} {wide_bar} {bytes:>11}/{total_bytes:11} {bytes_per_sec:>13} {eta:>4}";

/// The bar of one file; nothing where nobody looks.
pub fn bar(name: &str, size: u64, wanted: bool) -> ProgressBar {
    if !wanted || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(LOOK).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(size).with_style(style).with_message(clean(name))
}
