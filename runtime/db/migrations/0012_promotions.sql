-- Up Migration

ALTER TABLE deployments
  -- where a promotion took its image from: an environment of the same project, and the revision there
  ADD COLUMN promoted_from_environment text,
  ADD COLUMN promoted_from_revision integer;

-- Deployments of a whole project are listed by it.
CREATE INDEX workloads_project ON workloads (project);
