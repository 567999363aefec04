-- Up Migration

-- Another value after each change of a source, its credentials or host keys. A poll records its result only for the version that
-- it has read.
ALTER TABLE git_sources ADD COLUMN version uuid NOT NULL DEFAULT gen_random_uuid();
