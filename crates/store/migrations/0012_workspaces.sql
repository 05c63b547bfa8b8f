-- Workspaces: the row says that one exists, whose it is and whether it is in use. Its files are in the tree while it is
-- active; its versions are in the repository of the same name.

CREATE TABLE workspaces (
    workspace_id {TEXT} PRIMARY KEY,
    owner_uid {BIGINT} NOT NULL,
    owner_username {TEXT} NOT NULL,
    label {TEXT},
    kind {TEXT} NOT NULL,
    state {TEXT} NOT NULL,
    created_at {BIGINT} NOT NULL,
    updated_at {BIGINT} NOT NULL,
    default_branch {TEXT} NOT NULL
) {STRICT};

CREATE INDEX workspaces_by_owner ON workspaces (owner_uid, updated_at);
CREATE INDEX processes_by_workspace ON processes (workspace_id) WHERE workspace_id IS NOT NULL;

-- The newest message of the conversation `default` that is in the transcript of the workspace; 0 for none.
ALTER TABLE processes ADD COLUMN checkpointed_id {BIGINT} NOT NULL DEFAULT 0;
