-- Up Migration

-- When the dependencies of an image were last installed without those of an earlier image; null for an image of an older
-- version. Builds take over dependencies for a week only (decision 0056).
ALTER TABLE images ADD COLUMN installed_at timestamptz;
