//! Fingerprints of the tools that MCP servers have told of, so that a tool which becomes another one is noticed.

use std::collections::BTreeMap;

use crate::Result;
use crate::mcp::Mcp;
use crate::sql::{Batch, Statement};

/// A tool as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenTool {
    /// Of its description and schemas.
    pub fingerprint: String,
    /// When it became another one than it was before, in milliseconds.
    pub changed_at: Option<i64>,
}

impl Mcp<'_> {
    /// The tools of a server, by name.
    pub async fn tools(self, server_id: &str) -> Result<BTreeMap<String, SeenTool>> {
        let find = Statement::new("SELECT name, fingerprint, changed_at FROM mcp_tools WHERE server_id = $1");
        let rows = self.0.read(find.bind(server_id)).await?.into_iter();
        rows.map(|mut row| {
            Ok((row.text()?, SeenTool { fingerprint: row.text()?, changed_at: row.int_or_null()? }))
        })
        .collect()
    }

    /// Notes what a server tells of its tools now, and returns them all. A tool that is not told of any more is still
    /// known: one that comes back as another one has changed.
    pub async fn see_tools(
        self,
        server_id: &str,
        told: &BTreeMap<String, String>,
        now_ms: i64,
    ) -> Result<BTreeMap<String, SeenTool>> {
        let known = self.tools(server_id).await?;
        let new = told
            .iter()
            .filter(|(name, print)| known.get(*name).is_none_or(|seen| seen.fingerprint != print.as_str()));
        let notes: Vec<Statement> = new
            .map(|(name, print)| {
                // Nothing is noted of a server that has been removed meanwhile.
                Statement::new(
                    "INSERT INTO mcp_tools (server_id, name, fingerprint, seen_at) SELECT $1, $2, $3, $4 \
                     WHERE EXISTS (SELECT 1 FROM mcp_servers WHERE server_id = $1) \
                     ON CONFLICT (server_id, name) DO UPDATE SET fingerprint = excluded.fingerprint, changed_at = $4 \
                     WHERE mcp_tools.fingerprint <> excluded.fingerprint",
                )
                .bind(server_id)
                .bind(name.as_str())
                .bind(print.as_str())
                .bind(now_ms)
            })
            .collect();
        if notes.is_empty() {
            return Ok(known);
        }
        self.0.write(Batch::new().steps(notes)).await?;
        self.tools(server_id).await
    }
}
