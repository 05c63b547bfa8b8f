//! Size limit in front of `truncate`: the interpreter's makes the file in memory, however long it is to be,
//! and where there is not so much the whole gateway would end.

use std::sync::Arc;

use async_trait::async_trait;
use base::limits;
use bashkit::{Builtin, BuiltinContext, BuiltinRegistry, ExecResult, ExecutionPlan};

use crate::{argument_bounds, passthrough};

const NAME: &str = "truncate";

/// Puts this one in front of the interpreter's own.
pub(crate) fn guard(registry: &BuiltinRegistry) {
    registry.insert(NAME, Arc::new(Truncate));
}

struct Truncate;

#[async_trait]
impl Builtin for Truncate {
    /// Asked for when there is no plan: it is refused.
    async fn execute(&self, _: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        let most = limits::native_shell::STREAM_MAX_BYTES / 1024 / 1024;
        Ok(ExecResult::err(format!("{NAME}: File too large: more than {most} MiB are asked for\n"), 1))
    }

    async fn execution_plan(&self, ctx: &BuiltinContext<'_>) -> bashkit::Result<Option<ExecutionPlan>> {
        let most = limits::native_shell::STREAM_MAX_BYTES as u64;
        let wanted = match WantedSize::read(ctx.args) {
            WantedSize::Bytes(bytes) => bytes,
            WantedSize::As(file) => ctx.fs.stat(&ctx.cwd.join(file)).await.map_or(0, |stat| stat.size),
            // Its own words for what is wrong.
            WantedSize::Nothing => 0,
        };
        if wanted > most {
            return Ok(None);
        }
        Ok(Some(passthrough::plan(NAME, ctx.args.to_vec(), ctx)))
    }
}

/// How long the files are to be.
#[derive(Debug, PartialEq)]
enum WantedSize<'a> {
    Bytes(u64),
    /// As long as this one.
    As(&'a str),
    Nothing,
}

impl WantedSize<'_> {
    /// The largest of all sizes among the words. One that cannot be told is too large.
    fn read(args: &[String]) -> WantedSize<'_> {
        let mut asked = WantedSize::Nothing;
        let mut rest = args.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            let mut value = |long: &str, letter: char| {
                if let Some(attached) = word.strip_prefix(long) {
                    return attached.strip_prefix('=').or_else(|| rest.next());
                }
                let cluster = word.strip_prefix('-').filter(|cluster| !cluster.starts_with('-'))?;
                let attached = &cluster[cluster.find(letter)? + 1..];
                if attached.is_empty() { rest.next() } else { Some(attached) }
            };
            if let Some(size) = value("--size", 's') {
                let number = size.trim_start_matches(['+', '-', '<', '>', '/', '%', ' ']);
                let is_number = number.starts_with(|letter: char| letter.is_ascii_digit());
                let bytes = argument_bounds::size(number).map_or(u64::MAX, |bytes| bytes as u64);
                if is_number && asked != WantedSize::Bytes(u64::MAX) {
                    asked = WantedSize::Bytes(bytes);
                }
            } else if let Some(file) = value("--reference", 'r') {
                asked = WantedSize::As(file);
            }
        }
        asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_is_found_however_it_is_written() {
        for (line, asked) in [
            ("-s 5 f", WantedSize::Bytes(5)),
            ("-cs+5K f", WantedSize::Bytes(5_120)),
            ("--size=100G f", WantedSize::Bytes(100 << 30)),
            ("--size 1M f", WantedSize::Bytes(1 << 20)),
            ("-s 99999999999999999999 f", WantedSize::Bytes(u64::MAX)),
            ("-s 1E f", WantedSize::Bytes(u64::MAX)),
            ("-r g f", WantedSize::As("g")),
            ("--reference=g f", WantedSize::As("g")),
            ("-s x f", WantedSize::Nothing),
            ("f", WantedSize::Nothing),
        ] {
            let args: Vec<String> = line.split(' ').map(str::to_string).collect();
            assert_eq!(WantedSize::read(&args), asked, "{line}");
        }
    }
}
