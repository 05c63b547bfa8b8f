-- MCP servers that users have connected, and the tools each has told of. Headers and sign-in links are encrypted.
CREATE TABLE mcp_servers (
    server_id {TEXT} PRIMARY KEY,
    uid {BIGINT} NOT NULL,
    name {TEXT} NOT NULL,
    url {TEXT} NOT NULL,
    transport {TEXT} NOT NULL,
    headers {TEXT},
    callback_host {TEXT},
    auth_url {TEXT},
    auth_expires_at {BIGINT},
    client_issuer {TEXT},
    client_redirect {TEXT},
    client_id {TEXT},
    created_at {BIGINT} NOT NULL,
    updated_at {BIGINT} NOT NULL,
    UNIQUE (uid, name, url)
) {STRICT};
CREATE TABLE mcp_tools (
    server_id {TEXT} NOT NULL,
    name {TEXT} NOT NULL,
    fingerprint {TEXT} NOT NULL,
    seen_at {BIGINT} NOT NULL,
    changed_at {BIGINT},
    PRIMARY KEY (server_id, name)
) {STRICT};
