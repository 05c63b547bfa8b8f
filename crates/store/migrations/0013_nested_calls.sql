-- Calls that a block of code made: the tool call of the block is their parent. Questions from before have none.
ALTER TABLE approvals ADD COLUMN parent_call_id {TEXT};
