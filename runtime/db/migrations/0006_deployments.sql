-- Up Migration

-- The history of each app.
CREATE TABLE deployments (
  id uuid PRIMARY KEY,
  workload_id uuid NOT NULL REFERENCES workloads ON DELETE CASCADE,
  -- Numbered per app at acceptance under the app's row lock, without gaps; null for skipped deployments (decision 0001).
  revision integer,
  -- a restart is no new image: a rollback after it goes further back
  trigger text NOT NULL CHECK (trigger IN ('webhook', 'manual', 'restart', 'promotion', 'rollback', 'git')),
  state text NOT NULL CHECK (state IN
    ('accepted', 'building', 'rolling_out', 'succeeded', 'failed', 'superseded', 'cancelled', 'skipped')),
  -- empty until the image is built, for deployments from a git source
  image text NOT NULL,
  digest text,
  -- the commit, as far as the sender or git describes it
  commit text,
  commit_message text,
  commit_author text,
  branch text,
  actor text,
  -- the revision that a rollback goes back to
  rollback_of integer,
  -- what a rollback restores besides the image: the environment of the pods, or that and the settings
  restores text CHECK (restores IN ('environment', 'config')),
  -- whether the platform created it because another deployment failed or was cancelled
  automatic boolean NOT NULL DEFAULT false,
  -- for a failed or cancelled deployment: the revision that the app went back to because of it
  rolled_back_to integer,
  -- for a promotion: the environment of the same project, and the revision there, that ran the image
  promoted_from_environment text,
  promoted_from_revision integer,
  -- the app's settings when the release was applied (variables, port, limits, …, no secrets); a rollback can restore them
  settings jsonb,
  -- the immutable Secret with the environment of its pods; the values stay in the cluster
  env_secret text,
  -- One acceptance per key and app, such as the first deployment of an app or a webhook that is sent twice.
  dedup_key text,
  reason text,
  accepted_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  -- when its image was built; the rollout starts then
  built_at timestamptz,
  ended_at timestamptz,
  UNIQUE (workload_id, revision),
  UNIQUE (workload_id, dedup_key),
  CHECK ((ended_at IS NULL) = (state IN ('accepted', 'building', 'rolling_out'))),
  CONSTRAINT deployments_skipped CHECK ((revision IS NULL) = (state = 'skipped'))
);

-- Finds the active deployments of an app.
CREATE INDEX deployments_active ON deployments (workload_id) WHERE ended_at IS NULL;
-- Lists the history of an app, newest first.
CREATE INDEX deployments_history ON deployments (workload_id, accepted_at DESC, id DESC);

-- The output of a build, up to its last MiB: the pods that print it are removed.
CREATE TABLE build_logs (
  deployment_id uuid PRIMARY KEY REFERENCES deployments ON DELETE CASCADE,
  log text NOT NULL,
  -- whether the beginning is missing
  truncated boolean NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- The end of the log of the pod that failed a rollout: the pod is removed when the app rolls back.
CREATE TABLE crash_logs (
  deployment_id uuid PRIMARY KEY REFERENCES deployments ON DELETE CASCADE,
  pod text NOT NULL,
  log text NOT NULL,
  -- whether the beginning is missing
  truncated boolean NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- Git sources of apps, projected from `App.spec.git` by the App controller and polled by the queue `polling`.
CREATE TABLE git_sources (
  workload_id uuid PRIMARY KEY REFERENCES workloads ON DELETE CASCADE,
  url text NOT NULL,
  branch text NOT NULL,
  path text,
  dockerfile text,
  -- the newest commit of the branch that was deployed or needed no deployment
  commit text,
  -- When the poll that last saw `commit` started: anything accepted since deploys a newer commit.
  seen_at timestamptz,
  polled_at timestamptz,
  -- why the last poll failed; null if it succeeded
  error text,
  -- the kind of failure: a `GitProblem` of runtime/domain/git-source.ts
  problem text,
  failures integer NOT NULL DEFAULT 0,
  -- Over ssh: the server, and the host keys that it presented first and must present from then on.
  server text,
  host_keys text[]
);
