CREATE TABLE processes (
    pid {TEXT} PRIMARY KEY,
    uid {BIGINT} NOT NULL,
    profile {TEXT} NOT NULL,
    parent_pid {TEXT},
    label {TEXT},
    state {TEXT} NOT NULL,
    active_run_id {TEXT},
    active_conversation_id {TEXT},
    cwd {TEXT} NOT NULL,
    workspace_id {TEXT},
    context_files {TEXT} NOT NULL,
    next_message_id {BIGINT} NOT NULL,
    created_at {BIGINT} NOT NULL,
    last_active_at {BIGINT} NOT NULL,
    exited_at {BIGINT}
) {STRICT};
CREATE INDEX processes_by_uid ON processes (uid, created_at);

-- How many messages a conversation has, and what its runs used, is counted here, so that no reader has to.
CREATE TABLE conversations (
    pid {TEXT} NOT NULL,
    id {TEXT} NOT NULL,
    generation {BIGINT} NOT NULL,
    status {TEXT} NOT NULL,
    title {TEXT},
    message_count {BIGINT} NOT NULL,
    overflow {TEXT},
    compact_at_thousandths {BIGINT},
    keep_last {BIGINT},
    policy_updated_at {BIGINT},
    context {TEXT},
    input_tokens {BIGINT} NOT NULL DEFAULT 0,
    output_tokens {BIGINT} NOT NULL DEFAULT 0,
    cache_read_tokens {BIGINT} NOT NULL DEFAULT 0,
    cache_write_tokens {BIGINT} NOT NULL DEFAULT 0,
    input_nano {BIGINT} NOT NULL DEFAULT 0,
    output_nano {BIGINT} NOT NULL DEFAULT 0,
    cache_read_nano {BIGINT} NOT NULL DEFAULT 0,
    cache_write_nano {BIGINT} NOT NULL DEFAULT 0,
    created_at {BIGINT} NOT NULL,
    updated_at {BIGINT} NOT NULL,
    PRIMARY KEY (pid, id)
) {STRICT};

-- Ids are given out by the process: those of tool results are set aside when the calls are made.
CREATE TABLE messages (
    pid {TEXT} NOT NULL,
    id {BIGINT} NOT NULL,
    conversation_id {TEXT} NOT NULL,
    generation {BIGINT} NOT NULL,
    role {TEXT} NOT NULL,
    content {TEXT} NOT NULL,
    meta {TEXT},
    tool_call_id {TEXT},
    media {TEXT},
    origin {TEXT},
    run_id {TEXT},
    created_at {BIGINT} NOT NULL,
    PRIMARY KEY (pid, id)
) {STRICT};
CREATE INDEX messages_by_conversation ON messages (pid, conversation_id, id);

CREATE TABLE queue (
    pid {TEXT} NOT NULL,
    position {BIGINT} NOT NULL,
    run_id {TEXT} NOT NULL UNIQUE,
    conversation_id {TEXT} NOT NULL,
    role {TEXT} NOT NULL,
    reason {TEXT} NOT NULL,
    content {TEXT} NOT NULL,
    media {TEXT},
    origin {TEXT},
    created_at {BIGINT} NOT NULL,
    PRIMARY KEY (pid, position)
) {STRICT};

CREATE TABLE runs (
    run_id {TEXT} PRIMARY KEY,
    pid {TEXT} NOT NULL,
    uid {BIGINT} NOT NULL,
    conversation_id {TEXT} NOT NULL,
    generation {BIGINT} NOT NULL,
    reason {TEXT} NOT NULL,
    status {TEXT} NOT NULL,
    finish_reason {TEXT},
    error {TEXT},
    absorbed_by {TEXT},
    provider {TEXT},
    model {TEXT},
    turns {BIGINT} NOT NULL,
    tool_calls {BIGINT} NOT NULL,
    input_tokens {BIGINT} NOT NULL,
    output_tokens {BIGINT} NOT NULL,
    cache_read_tokens {BIGINT} NOT NULL,
    cache_write_tokens {BIGINT} NOT NULL,
    input_nano {BIGINT} NOT NULL,
    output_nano {BIGINT} NOT NULL,
    cache_read_nano {BIGINT} NOT NULL,
    cache_write_nano {BIGINT} NOT NULL,
    started_at {BIGINT} NOT NULL,
    finished_at {BIGINT}
) {STRICT};
-- Without the second column SQLite would rather walk through all runs of the process.
CREATE INDEX runs_active ON runs (pid, absorbed_by) WHERE status = 'active';
CREATE INDEX runs_by_pid ON runs (pid, started_at);
CREATE INDEX runs_by_uid ON runs (uid, started_at);

-- What a run did, one row for each step, never changed: intents before their effects, outcomes after them.
CREATE TABLE steps (
    run_id {TEXT} NOT NULL,
    number {BIGINT} NOT NULL,
    pid {TEXT} NOT NULL,
    kind {TEXT} NOT NULL,
    body {TEXT} NOT NULL,
    created_at {BIGINT} NOT NULL,
    PRIMARY KEY (run_id, number)
) {STRICT};

CREATE TABLE approvals (
    request_id {TEXT} PRIMARY KEY,
    pid {TEXT} NOT NULL,
    uid {BIGINT} NOT NULL,
    run_id {TEXT} NOT NULL,
    conversation_id {TEXT} NOT NULL,
    turn {BIGINT} NOT NULL,
    place {BIGINT} NOT NULL,
    call_id {TEXT} NOT NULL,
    tool_name {TEXT} NOT NULL,
    syscall {TEXT} NOT NULL,
    target {TEXT} NOT NULL,
    args {TEXT} NOT NULL,
    tags {TEXT} NOT NULL,
    shape {TEXT},
    digest {TEXT} NOT NULL,
    created_at {BIGINT} NOT NULL,
    decision {TEXT},
    decided_at {BIGINT},
    decided_by {TEXT}
) {STRICT};
CREATE INDEX approvals_open ON approvals (uid, created_at) WHERE decision IS NULL;
CREATE INDEX approvals_by_run ON approvals (run_id);

CREATE TABLE approval_rules (
    approval_id {TEXT} PRIMARY KEY,
    pid {TEXT} NOT NULL,
    syscall {TEXT} NOT NULL,
    scope {TEXT} NOT NULL,
    target {TEXT} NOT NULL,
    shape {TEXT} NOT NULL,
    created_at {BIGINT} NOT NULL,
    UNIQUE (pid, syscall, scope, target, shape)
) {STRICT};

CREATE TABLE segments (
    id {TEXT} PRIMARY KEY,
    pid {TEXT} NOT NULL,
    conversation_id {TEXT} NOT NULL,
    generation {BIGINT} NOT NULL,
    from_message_id {BIGINT} NOT NULL,
    to_message_id {BIGINT} NOT NULL,
    archive_path {TEXT} NOT NULL,
    summary_message_id {BIGINT},
    created_at {BIGINT} NOT NULL
) {STRICT};
CREATE INDEX segments_by_conversation ON segments (pid, conversation_id, created_at);

CREATE TABLE ipc_calls (
    call_id {TEXT} PRIMARY KEY,
    uid {BIGINT} NOT NULL,
    source_pid {TEXT} NOT NULL,
    target_pid {TEXT} NOT NULL,
    target_run_id {TEXT} NOT NULL,
    status {TEXT} NOT NULL,
    deadline_at {BIGINT} NOT NULL,
    created_at {BIGINT} NOT NULL
) {STRICT};
CREATE INDEX ipc_calls_open ON ipc_calls (deadline_at) WHERE status = 'pending';
CREATE INDEX ipc_calls_by_run ON ipc_calls (target_run_id);

-- The id a driver knows the call by, and which running program it was sent to: after a restart only that one can tell
-- what became of it.
ALTER TABLE routes ADD COLUMN letter {TEXT};
ALTER TABLE routes ADD COLUMN instance {TEXT};
ALTER TABLE routes ADD COLUMN args {TEXT};
CREATE INDEX routes_by_request ON routes (pid, request_id);
