-- Connections that wait for a person. The verifier is encrypted, and of the state only a hash is kept.
CREATE TABLE oauth_flows (
    flow_id {TEXT} PRIMARY KEY,
    state_hash {TEXT} NOT NULL UNIQUE,
    uid {BIGINT} NOT NULL REFERENCES accounts (uid) ON DELETE CASCADE,
    kind {TEXT} NOT NULL,
    provider {TEXT} NOT NULL,
    account_key {TEXT} NOT NULL,
    label {TEXT},
    authorization_endpoint {TEXT} NOT NULL,
    token_endpoint {TEXT} NOT NULL,
    client_id {TEXT} NOT NULL,
    redirect_uri {TEXT} NOT NULL,
    scope {TEXT},
    resource {TEXT},
    extra_params {TEXT} NOT NULL,
    code_verifier {TEXT} NOT NULL,
    created_at {BIGINT} NOT NULL,
    expires_at {BIGINT} NOT NULL
) {STRICT};
CREATE INDEX oauth_flows_by_uid ON oauth_flows (uid, created_at);
CREATE INDEX oauth_flows_by_expiry ON oauth_flows (expires_at);

-- Connected accounts at other services. Both tokens are encrypted.
CREATE TABLE oauth_accounts (
    account_id {TEXT} PRIMARY KEY,
    uid {BIGINT} NOT NULL REFERENCES accounts (uid) ON DELETE CASCADE,
    kind {TEXT} NOT NULL,
    provider {TEXT} NOT NULL,
    account_key {TEXT} NOT NULL,
    label {TEXT},
    scope {TEXT},
    resource {TEXT},
    client_id {TEXT} NOT NULL,
    token_type {TEXT} NOT NULL,
    access_token {TEXT} NOT NULL,
    refresh_token {TEXT},
    expires_at {BIGINT},
    created_at {BIGINT} NOT NULL,
    updated_at {BIGINT} NOT NULL,
    last_used_at {BIGINT},
    metadata {TEXT} NOT NULL,
    UNIQUE (uid, kind, provider, account_key)
) {STRICT};
