-- The token whose login made this one; none when it was a password. What revokes it revokes what was made with it.
ALTER TABLE tokens ADD COLUMN parent_id {TEXT};
CREATE INDEX tokens_by_parent ON tokens (parent_id);
-- Counts how often a user's sessions were ended at once, as a new password does: logins from before are over everywhere.
ALTER TABLE accounts ADD COLUMN sessions_ended {BIGINT} NOT NULL DEFAULT 0;
