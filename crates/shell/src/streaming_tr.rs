//! `tr` as a stream filter: it writes while it reads, so that its input need not end.

use std::sync::Arc;

use async_trait::async_trait;
use bashkit::{CommandContext, CommandStatus};

use crate::commands::tr::table;
use crate::meter::Meter;

/// `tr` as a command of the interpreter that writes while it reads: what is piped in may have no end.
pub(crate) struct StreamingTr(pub(crate) Arc<Meter>);

#[async_trait]
impl bashkit::Command for StreamingTr {
    async fn execute(&self, ctx: CommandContext<'_>) -> bashkit::Result<CommandStatus> {
        let mut table = match table(ctx.name, ctx.args) {
            Ok(table) => table,
            Err(done) => {
                ctx.stdout.write_all(&done.stdout).await?;
                ctx.stderr.write_all(&done.stderr).await?;
                return Ok(CommandStatus::with_code(done.code));
            }
        };
        let device = self.0.fed(ctx.name);
        let mut out = Vec::new();
        while let Some(bytes) = ctx.stdin.read_chunk().await? {
            table.pass(&bytes, &mut out);
            ctx.stdout.write_all(&out).await?;
            out.clear();
            tokio::task::yield_now().await;
        }
        // Whoever has enough of it stops reading before.
        if let Some(device) = device {
            let why = format!("{}: {}\n", ctx.name, Meter::never_ends(&device));
            ctx.stderr.write_all(why.as_bytes()).await?;
            return Ok(CommandStatus::with_code(1));
        }
        Ok(CommandStatus::success())
    }
}
