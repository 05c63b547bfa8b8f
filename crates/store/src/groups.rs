//! Repository of groups; their row is beside the accounts'.

use protocol::ids::{Gid, Uid};

use crate::accounts::Group;
use crate::changes::Topic;
use crate::sql::{Batch, Row, Statement, Written};
use crate::{Error, Result, Store};

/// Groups of users. See [`Store::groups`].
#[derive(Clone, Copy)]
pub struct Groups<'a>(pub(crate) &'a Store);

impl Store {
    /// Groups of users.
    pub fn groups(&self) -> Groups<'_> {
        Groups(self)
    }
}

impl Groups<'_> {
    /// All groups, by gid.
    pub async fn all(self) -> Result<Vec<Group>> {
        let statement = Statement::new(
            "SELECT g.gid, g.name, a.username FROM user_groups g LEFT JOIN members m ON m.gid = g.gid \
             LEFT JOIN accounts a ON a.uid = m.uid ORDER BY g.gid, a.uid",
        );
        let mut groups: Vec<Group> = Vec::new();
        for mut row in self.0.read(statement).await? {
            let group = group_from(&mut row)?;
            let member = row.text_or_null()?;
            if groups.last().is_none_or(|last| last.gid != group.gid) {
                groups.push(group);
            }
            if let (Some(last), Some(member)) = (groups.last_mut(), member) {
                last.members.push(member);
            }
        }
        Ok(groups)
    }

    /// Whether there is a group of that number.
    pub async fn has(self, gid: Gid) -> Result<bool> {
        let statement = Statement::new("SELECT gid FROM user_groups WHERE gid = $1").bind(gid);
        Ok(!self.0.read(statement).await?.is_empty())
    }

    /// The number of the group of that name.
    pub async fn named(self, name: &str) -> Result<Option<Gid>> {
        let statement = Statement::new("SELECT gid FROM user_groups WHERE name = $1").bind(name);
        self.0.read(statement).await?.pop().map(|mut row| row.gid()).transpose()
    }

    /// The names of the groups a user is in, its own included, by gid.
    pub async fn names_of(self, uid: Uid) -> Result<Vec<String>> {
        let statement = Statement::new(
            "SELECT name FROM user_groups WHERE gid IN (SELECT gid FROM accounts WHERE uid = $1 \
             UNION SELECT gid FROM members WHERE uid = $1) ORDER BY gid",
        );
        self.0.read(statement.bind(uid)).await?.into_iter().map(|mut row| row.text()).collect()
    }

    /// Adds a group with the next free number from 1000 on, over users and groups; `Conflict` when the name is
    /// taken by a user or a group.
    pub async fn create(self, name: &str) -> Result<Group> {
        // Every user has a group of its own name, so the groups' names are all there is to check.
        let create = Statement::new(
            "INSERT INTO user_groups (gid, name) SELECT latest, $1 FROM numbers WHERE name = 'account' \
             ON CONFLICT DO NOTHING RETURNING gid, name",
        );
        let batch = Batch::new()
            .guard(Statement::new(
                "UPDATE numbers SET latest = latest + 1 WHERE name = 'account' RETURNING latest",
            ))
            .guard(create.bind(name))
            .changing(Topic::Accounts);
        let written = self.0.write(batch).await.map_err(|error| error.named(name))?;
        match written.last().and_then(|mut rows| rows.pop()) {
            Some(mut row) => group_from(&mut row),
            None => Err(Error::Conflict(name.to_string())),
        }
    }

    /// Removes a group with its memberships, grants and device access. False when there is none, or when it is
    /// a user's private group, which goes with its user only.
    pub async fn remove(self, gid: Gid) -> Result<bool> {
        let of = |sql| Statement::new(sql).bind(gid);
        let batch = Batch::new()
            .guard(of("DELETE FROM user_groups WHERE gid = $1 \
                 AND NOT EXISTS (SELECT 1 FROM accounts WHERE gid = $1) RETURNING gid"))
            .step(of("DELETE FROM grants WHERE gid = $1"))
            .step(of("DELETE FROM device_access WHERE gid = $1"))
            .changing(Topic::Accounts)
            .changing(Topic::Grants)
            .changing(Topic::Devices);
        Ok(matches!(self.0.write(batch).await?, Written::Done(_)))
    }
}

fn group_from(row: &mut Row) -> Result<Group> {
    Ok(Group { gid: row.gid()?, name: row.text()?, members: Vec::new() })
}
