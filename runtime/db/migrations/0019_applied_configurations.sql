-- Up Migration

-- What `svc apply` last applied to an environment from one file. The next apply compares it with the file: what has left
-- the file since is reset or pruned, and what the file never named stays as it is (decision 0054).
CREATE TABLE applied_configurations (
  environment_id uuid NOT NULL,
  name text NOT NULL,
  -- Increases with every write; a write names the version that it has read.
  version integer NOT NULL DEFAULT 1,
  -- Kind → name → settings.
  objects jsonb NOT NULL,
  applied_by text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (environment_id, name)
);
