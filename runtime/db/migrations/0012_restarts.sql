-- Up Migration

-- A restart is no new image, so that a rollback after it must go further back.
ALTER TABLE deployments DROP CONSTRAINT deployments_trigger_check;
ALTER TABLE deployments ADD CONSTRAINT deployments_trigger_check
  CHECK (trigger IN ('webhook', 'manual', 'restart', 'promotion', 'rollback', 'git'));
