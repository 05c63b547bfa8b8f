//! Role-based access: which group holds which capability.

use protocol::ids::Gid;

use crate::changes::Topic;
use crate::sql::{Batch, Row, Statement};
use crate::{Result, Store};

/// Capabilities of groups. See [`Store::grants`].
#[derive(Clone, Copy)]
pub struct Grants<'a>(pub(crate) &'a Store);

impl Store {
    /// Capabilities of groups.
    pub fn grants(&self) -> Grants<'_> {
        Grants(self)
    }
}

impl Grants<'_> {
    /// Gives each default once and for all: one that was given before and revoked since stays revoked.
    pub async fn give_defaults(self, defaults: &[(Gid, &str)]) -> Result<()> {
        let given = pairs(self.0.read(Statement::new("SELECT gid, capability FROM grants_given")).await?)?;
        let mut batch = Batch::new();
        for &(gid, capability) in defaults {
            if given.iter().any(|(of, name)| *of == gid && name == capability) {
                continue;
            }
            let of = |sql| Statement::new(sql).bind(gid).bind(capability);
            batch = batch
                .step(of("INSERT INTO grants (gid, capability) SELECT $1, $2 WHERE NOT EXISTS \
                     (SELECT 1 FROM grants_given WHERE gid = $1 AND capability = $2) ON CONFLICT DO NOTHING"))
                .step(of(
                    "INSERT INTO grants_given (gid, capability) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                ));
        }
        if !batch.steps.is_empty() {
            self.0.write(batch.changing(Topic::Grants)).await?;
        }
        Ok(())
    }

    /// All grants, by gid and name.
    pub async fn all(self) -> Result<Vec<(Gid, String)>> {
        pairs(
            self.0
                .read(Statement::new("SELECT gid, capability FROM grants ORDER BY gid, capability"))
                .await?,
        )
    }

    /// What one group holds, by name.
    pub async fn of(self, gid: Gid) -> Result<Vec<String>> {
        let statement =
            Statement::new("SELECT capability FROM grants WHERE gid = $1 ORDER BY capability").bind(gid);
        self.0.read(statement).await?.into_iter().map(|mut row| row.text()).collect()
    }

    /// Gives a capability. False when the group held it already.
    pub async fn give(self, gid: Gid, capability: &str) -> Result<bool> {
        let statement = Statement::new(
            "INSERT INTO grants (gid, capability) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING gid",
        );
        Ok(!self.0.change_of(Topic::Grants, statement.bind(gid).bind(capability)).await?.is_empty())
    }

    /// Takes it. False when the group did not hold it.
    pub async fn revoke(self, gid: Gid, capability: &str) -> Result<bool> {
        let statement = Statement::new("DELETE FROM grants WHERE gid = $1 AND capability = $2 RETURNING gid");
        Ok(!self.0.change_of(Topic::Grants, statement.bind(gid).bind(capability)).await?.is_empty())
    }
}

fn pairs(rows: Vec<Row>) -> Result<Vec<(Gid, String)>> {
    rows.into_iter().map(|mut row| Ok((row.gid()?, row.text()?))).collect()
}
