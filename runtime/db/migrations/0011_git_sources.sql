-- Up Migration

-- When the image of a deployment from a git source was there: until then its image is '', and its rollout begins then.
ALTER TABLE deployments ADD COLUMN built_at timestamptz;

-- What a build printed, once it has ended: the pods that printed it go. The last MiB at most.
CREATE TABLE build_logs (
  deployment_id uuid PRIMARY KEY REFERENCES deployments ON DELETE CASCADE,
  log text NOT NULL,
  -- whether the beginning is left out
  truncated boolean NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- Git sources as the App controller projects them out of `App.spec.git`; polled by the queue `polling`.
CREATE TABLE git_sources (
  workload_id uuid PRIMARY KEY REFERENCES workloads ON DELETE CASCADE,
  url text NOT NULL,
  branch text NOT NULL,
  path text,
  dockerfile text,
  -- the branch's newest commit that a deployment was made of, or that needed none
  commit text,
  polled_at timestamptz,
  -- why the last poll failed; null when it did not
  error text,
  failures integer NOT NULL DEFAULT 0
);
