-- Up Migration

-- When the poll began that saw `commit` last: of a newer tip, whatever was accepted since then is its deployment.
ALTER TABLE git_sources ADD COLUMN seen_at timestamptz;
UPDATE git_sources SET seen_at = polled_at WHERE commit IS NOT NULL;
