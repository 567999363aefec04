-- Up Migration

CREATE TABLE deployments (
  id uuid PRIMARY KEY,
  workload_id uuid NOT NULL REFERENCES workloads ON DELETE CASCADE,
  -- per app, numbered at acceptance under the app's row lock, without gaps; null for skipped ones (decision 0001)
  revision integer,
  trigger text NOT NULL CHECK (trigger IN ('webhook', 'manual', 'promotion', 'rollback', 'git')),
  state text NOT NULL CHECK (state IN
    ('accepted', 'building', 'rolling_out', 'succeeded', 'failed', 'superseded', 'cancelled', 'skipped')),
  image text NOT NULL,
  digest text,
  commit text,
  actor text,
  -- the revision whose image a rollback brings back
  rollback_of integer,
  -- one acceptance per key and app: the first deployment of an app, a redelivered webhook
  dedup_key text,
  reason text,
  accepted_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  ended_at timestamptz,
  UNIQUE (workload_id, revision),
  UNIQUE (workload_id, dedup_key),
  CHECK ((ended_at IS NULL) = (state IN ('accepted', 'building', 'rolling_out')))
);

CREATE INDEX deployments_active ON deployments (workload_id) WHERE ended_at IS NULL;

-- Outbox, sweeper and schedule in one (design.md §4): a row that is not done in its time is due again.
CREATE TABLE work (
  id uuid PRIMARY KEY,
  kind text NOT NULL,
  record_id uuid NOT NULL,
  -- failures in a row; reset by a step that got further
  failures integer NOT NULL DEFAULT 0,
  -- counts every hand-over to the queue: part of the job's id, and the fence of its outcome
  attempt integer NOT NULL DEFAULT 0,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'done')),
  due_at timestamptz NOT NULL DEFAULT now(),
  last_error text,
  created_at timestamptz NOT NULL DEFAULT now(),
  done_at timestamptz,
  UNIQUE (kind, record_id)
);

CREATE INDEX work_due ON work (due_at) WHERE state = 'pending';
