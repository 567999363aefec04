-- Up Migration

-- Since when the source has a statement that marks events as done, if it had none before and events that were delivered
-- until then may have to be marked, too.
ALTER TABLE event_sources ADD COLUMN marks_since timestamptz;
