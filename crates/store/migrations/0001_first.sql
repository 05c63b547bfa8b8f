CREATE TABLE accounts (
    uid {BIGINT} PRIMARY KEY,
    gid {BIGINT} NOT NULL,
    username {TEXT} NOT NULL UNIQUE,
    gecos {TEXT} NOT NULL,
    home {TEXT} NOT NULL,
    shell {TEXT} NOT NULL,
    hash {TEXT} NOT NULL,
    locked {BIGINT} NOT NULL,
    changed_at {BIGINT} NOT NULL
) {STRICT};

CREATE TABLE user_groups (
    gid {BIGINT} PRIMARY KEY,
    name {TEXT} NOT NULL UNIQUE
) {STRICT};

-- The private group of a user has no row here.
CREATE TABLE members (
    uid {BIGINT} NOT NULL REFERENCES accounts (uid) ON DELETE CASCADE,
    gid {BIGINT} NOT NULL REFERENCES user_groups (gid) ON DELETE CASCADE,
    PRIMARY KEY (uid, gid)
) {STRICT};
CREATE INDEX members_by_gid ON members (gid);

-- The last number given to a user or a group. Numbers are never given twice, so that what a removed user
-- left behind does not fall to the next one.
CREATE TABLE numbers (
    name {TEXT} PRIMARY KEY,
    latest {BIGINT} NOT NULL
) {STRICT};
INSERT INTO numbers (name, latest) VALUES ('account', 999);

CREATE TABLE tokens (
    token_id {TEXT} PRIMARY KEY,
    uid {BIGINT} NOT NULL REFERENCES accounts (uid) ON DELETE CASCADE,
    kind {TEXT} NOT NULL,
    label {TEXT},
    hash {TEXT} NOT NULL UNIQUE,
    prefix {TEXT} NOT NULL,
    allowed_role {TEXT} NOT NULL,
    allowed_device_id {TEXT},
    created_at {BIGINT} NOT NULL,
    last_used_at {BIGINT},
    expires_at {BIGINT},
    revoked_at {BIGINT},
    revoked_reason {TEXT}
) {STRICT};
CREATE INDEX tokens_by_uid ON tokens (uid);

CREATE TABLE config (
    key {TEXT} PRIMARY KEY,
    value {TEXT} NOT NULL,
    sealed {BIGINT} NOT NULL
) {STRICT};
CREATE INDEX config_sealed ON config (key) WHERE sealed = 1;

CREATE TABLE grants (
    gid {BIGINT} NOT NULL,
    capability {TEXT} NOT NULL,
    PRIMARY KEY (gid, capability)
) {STRICT};

-- Defaults that were given once; they are not given again.
CREATE TABLE grants_given (
    gid {BIGINT} NOT NULL,
    capability {TEXT} NOT NULL,
    PRIMARY KEY (gid, capability)
) {STRICT};

CREATE TABLE devices (
    device_id {TEXT} PRIMARY KEY,
    owner_uid {BIGINT} NOT NULL,
    description {TEXT} NOT NULL,
    implements {TEXT} NOT NULL,
    platform {TEXT} NOT NULL,
    version {TEXT} NOT NULL,
    online {BIGINT} NOT NULL,
    first_seen_at {BIGINT} NOT NULL,
    last_seen_at {BIGINT} NOT NULL,
    connected_at {BIGINT},
    disconnected_at {BIGINT}
) {STRICT};

CREATE TABLE device_access (
    device_id {TEXT} NOT NULL,
    gid {BIGINT} NOT NULL,
    PRIMARY KEY (device_id, gid)
) {STRICT};
CREATE INDEX device_access_by_gid ON device_access (gid);

CREATE TABLE shell_sessions (
    session_id {TEXT} PRIMARY KEY,
    uid {BIGINT} NOT NULL,
    device_id {TEXT} NOT NULL,
    device_session_id {TEXT} NOT NULL,
    status {TEXT} NOT NULL,
    exit_code {BIGINT},
    error {TEXT},
    created_at {BIGINT} NOT NULL,
    updated_at {BIGINT} NOT NULL,
    expires_at {BIGINT} NOT NULL,
    UNIQUE (device_id, device_session_id)
) {STRICT};
CREATE INDEX shell_sessions_by_expiry ON shell_sessions (expires_at);

CREATE TABLE routes (
    route_id {TEXT} PRIMARY KEY,
    call {TEXT} NOT NULL,
    pid {TEXT} NOT NULL,
    request_id {TEXT} NOT NULL,
    device_id {TEXT} NOT NULL,
    created_at {BIGINT} NOT NULL,
    expires_at {BIGINT} NOT NULL
) {STRICT};
