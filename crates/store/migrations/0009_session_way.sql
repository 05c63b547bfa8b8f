-- How a shell session of a process was allowed to start: proved, confined or approved. Not known of a person's.
ALTER TABLE shell_sessions ADD COLUMN way {TEXT};
