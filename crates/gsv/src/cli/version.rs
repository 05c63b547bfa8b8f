//! `gsv version`.

use terminal::failure::Result;

use crate::context::Context;

/// The version of this program, said to gateways and people alike.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Prints the version and the machine it was built for.
pub fn run(context: &Context) -> Result<u8> {
    let target = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    let raw = serde_json::json!({ "version": VERSION, "target": target }).to_string();
    context.output.answer(&raw, || format!("gsv {VERSION} ({target})"))?;
    Ok(0)
}
