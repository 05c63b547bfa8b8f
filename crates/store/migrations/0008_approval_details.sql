-- What a question shows besides the call: JSON with the reasons, the working directory and the script files.
ALTER TABLE approvals ADD COLUMN details {TEXT};
