//! Repository of git repositories' rows: whose each is, what it is for, who else may read it. What a repository holds
//! is in its directory.

use protocol::ids::Uid;
use protocol::repo::RepoKind;

use crate::sql::{Row, Statement, unexpected};
use crate::{Result, Store};

/// A git repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepoRow {
    /// The name of the account whose it is.
    pub owner: String,
    /// The name behind the slash.
    pub name: String,
    /// Whose it is.
    pub owner_uid: Uid,
    /// What made it.
    pub kind: RepoKind,
    /// Whether everybody may read it.
    pub public: bool,
    /// What it is for.
    pub description: Option<String>,
    /// Where it was imported from.
    pub upstream: Option<Upstream>,
    /// In milliseconds.
    pub created_at: i64,
    /// When its content last changed, in milliseconds.
    pub updated_at: i64,
}

/// Where a repository was imported from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// The git URL, without secrets.
    pub url: String,
    /// The ref there.
    pub reference: String,
}

/// Git repositories. See [`Store::repos`].
#[derive(Clone, Copy)]
pub struct Repos<'a>(pub(crate) &'a Store);

impl Store {
    /// Git repositories.
    pub fn repos(&self) -> Repos<'_> {
        Repos(self)
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT owner, name, owner_uid, kind, public, description, upstream_url, upstream_ref, created_at, \
             updated_at FROM repos ",
            $rest
        )
    };
}

impl Repos<'_> {
    /// The one of that name, however its letters are spelled: compare before you use it.
    pub async fn find(self, owner: &str, name: &str) -> Result<Option<RepoRow>> {
        let statement = Statement::new(select!("WHERE folded = $1")).bind(folded(owner, name));
        self.0.read(statement).await?.pop().map(repo_from).transpose()
    }

    /// Notes a new one. False, and nothing is changed, when there is one of that name.
    pub async fn create(self, repo: &RepoRow) -> Result<bool> {
        let statement = Statement::new(
            "INSERT INTO repos (folded, owner, name, owner_uid, kind, public, description, created_at, updated_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING RETURNING folded",
        );
        let statement = statement
            .bind(folded(&repo.owner, &repo.name))
            .bind(repo.owner.as_str())
            .bind(repo.name.as_str())
            .bind(repo.owner_uid)
            .bind(kind_text(repo.kind))
            .bind(repo.public)
            .bind(repo.description.clone())
            .bind(repo.created_at)
            .bind(repo.updated_at);
        Ok(!self.0.change(statement).await?.is_empty())
    }

    /// Those of a user and those that everybody may read, by name.
    pub async fn visible_to(self, uid: Uid) -> Result<Vec<RepoRow>> {
        let statement = Statement::new(select!("WHERE owner_uid = $1 OR public = 1 ORDER BY owner, name"));
        self.0.read(statement.bind(uid)).await?.into_iter().map(repo_from).collect()
    }

    /// All of them, by name.
    pub async fn all(self) -> Result<Vec<RepoRow>> {
        let statement = Statement::new(select!("ORDER BY owner, name"));
        self.0.read(statement).await?.into_iter().map(repo_from).collect()
    }

    /// Notes that the content of one changed.
    pub async fn touch(self, owner: &str, name: &str, now_ms: i64) -> Result<()> {
        let statement = Statement::new("UPDATE repos SET updated_at = $2 WHERE folded = $1")
            .bind(folded(owner, name))
            .bind(now_ms);
        self.0.change(statement).await.map(|_| ())
    }

    /// Sets whether everybody may read one; false when there is none.
    pub async fn set_public(self, owner: &str, name: &str, public: bool) -> Result<bool> {
        let statement = Statement::new("UPDATE repos SET public = $2 WHERE folded = $1 RETURNING folded")
            .bind(folded(owner, name))
            .bind(public);
        Ok(!self.0.change(statement).await?.is_empty())
    }

    /// Sets what one is for.
    pub async fn describe(self, owner: &str, name: &str, description: &str) -> Result<()> {
        let statement = Statement::new("UPDATE repos SET description = $2 WHERE folded = $1")
            .bind(folded(owner, name))
            .bind(description);
        self.0.change(statement).await.map(|_| ())
    }

    /// Sets where one was imported from.
    pub async fn set_upstream(self, owner: &str, name: &str, upstream: &Upstream) -> Result<()> {
        let statement =
            Statement::new("UPDATE repos SET upstream_url = $2, upstream_ref = $3 WHERE folded = $1")
                .bind(folded(owner, name))
                .bind(upstream.url.as_str())
                .bind(upstream.reference.as_str());
        self.0.change(statement).await.map(|_| ())
    }
}

fn folded(owner: &str, name: &str) -> String {
    format!("{owner}/{name}").to_ascii_lowercase()
}

fn repo_from(mut row: Row) -> Result<RepoRow> {
    Ok(RepoRow {
        owner: row.text()?,
        name: row.text()?,
        owner_uid: row.uid()?,
        kind: kind_from(&row.text()?)?,
        public: row.flag()?,
        description: row.text_or_null()?,
        upstream: row
            .text_or_null()?
            .zip(row.text_or_null()?)
            .map(|(url, reference)| Upstream { url, reference }),
        created_at: row.int()?,
        updated_at: row.int()?,
    })
}

fn kind_text(kind: RepoKind) -> &'static str {
    match kind {
        RepoKind::Home => "home",
        RepoKind::Workspace => "workspace",
        RepoKind::Package => "package",
        RepoKind::User => "user",
    }
}

fn kind_from(text: &str) -> Result<RepoKind> {
    match text {
        "home" => Ok(RepoKind::Home),
        "workspace" => Ok(RepoKind::Workspace),
        "package" => Ok(RepoKind::Package),
        "user" => Ok(RepoKind::User),
        other => Err(unexpected("a kind of repository", other)),
    }
}
