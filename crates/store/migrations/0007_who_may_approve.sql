-- Whether logins with a token may answer approvals. Those from before this was said may not.
ALTER TABLE tokens ADD COLUMN approve {BIGINT} NOT NULL DEFAULT 0;
-- The process that began a shell session; none for a person. A process reaches its own only.
ALTER TABLE shell_sessions ADD COLUMN pid {TEXT};
