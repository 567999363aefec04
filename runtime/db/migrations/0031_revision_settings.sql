-- Up Migration

-- The settings that a revision had and that a rollback does not restore (number of pods, release command, bindings, …),
-- for the differences between revisions. Null for deployments of older versions of the platform.
ALTER TABLE deployments ADD COLUMN other_settings jsonb;
