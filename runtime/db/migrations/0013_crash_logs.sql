-- Up Migration

-- The end of the log of the pod that failed a rollout: the pod is removed when the app rolls back.
CREATE TABLE crash_logs (
  deployment_id uuid PRIMARY KEY REFERENCES deployments ON DELETE CASCADE,
  pod text NOT NULL,
  log text NOT NULL,
  -- whether the beginning is missing
  truncated boolean NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now()
);
