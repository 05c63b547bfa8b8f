-- The pressure from which on a conversation is compacted, as it was set: a decimal number that reads back the same.
-- Thousandths were too coarse for that.
ALTER TABLE conversations ADD COLUMN compact_at {TEXT};
UPDATE conversations SET compact_at = CASE
    WHEN compact_at_thousandths >= 1000 THEN '1'
    ELSE '0.' || substr(CAST(1000 + compact_at_thousandths AS TEXT), 2) END
    WHERE compact_at_thousandths IS NOT NULL;
ALTER TABLE conversations DROP COLUMN compact_at_thousandths;
