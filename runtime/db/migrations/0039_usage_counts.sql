-- Up Migration

-- The counts of a key are read from the index of its days: in the table, they are on as many pages as there are days. An
-- update changes another index (usage_version) in any case, so this one does not make it dearer in kind.
-- Made beside the old one, so that usage is read meanwhile; checkers repeat what they cannot write.
CREATE UNIQUE INDEX usage_counts ON usage (key_id, day, incarnation) INCLUDE (allowed, rate_denied, quota_denied);
ALTER TABLE usage DROP CONSTRAINT usage_pkey;
ALTER TABLE usage ADD CONSTRAINT usage_pkey PRIMARY KEY USING INDEX usage_counts;
