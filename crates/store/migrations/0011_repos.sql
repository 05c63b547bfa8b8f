-- Repositories: the row says that one exists, the directory beside it holds its content.

CREATE TABLE repos (
    -- `owner/name` in small letters: two that differ by case alone would be one directory on some file systems.
    folded {TEXT} PRIMARY KEY,
    owner {TEXT} NOT NULL,
    name {TEXT} NOT NULL,
    owner_uid {BIGINT} NOT NULL,
    kind {TEXT} NOT NULL,
    public {BIGINT} NOT NULL,
    description {TEXT},
    -- Where it was imported from, and the ref there.
    upstream_url {TEXT},
    upstream_ref {TEXT},
    created_at {BIGINT} NOT NULL,
    updated_at {BIGINT} NOT NULL
) {STRICT};

CREATE INDEX repos_by_owner ON repos (owner_uid);
