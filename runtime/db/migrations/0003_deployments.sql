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
CREATE INDEX deployments_history ON deployments (workload_id, accepted_at DESC, id DESC);

-- Outbox, sweeper and schedule in one (design.md §4). A row is handed to the queue when it is due and leased until its
-- attempt has answered; one whose lease runs out is due again. All times are the database's.
CREATE TABLE work (
  id uuid PRIMARY KEY,
  kind text NOT NULL,
  record_id uuid NOT NULL,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'done')),
  -- when the next attempt is wanted; 'infinity' while one is under way and nothing has asked for another
  due_at timestamptz NOT NULL DEFAULT now(),
  -- counts every hand-over to the queue: part of the job's id, and the fence of its outcome
  attempt integer NOT NULL DEFAULT 0,
  -- an attempt is under way until then at most
  leased_until timestamptz,
  -- a worker has taken this attempt up; no other may
  begun boolean NOT NULL DEFAULT false,
  -- failures in a row; reset by an attempt that got further
  failures integer NOT NULL DEFAULT 0,
  last_error text,
  created_at timestamptz NOT NULL DEFAULT now(),
  done_at timestamptz,
  UNIQUE (kind, record_id)
);

CREATE INDEX work_due ON work (kind, COALESCE(leased_until, due_at)) WHERE state = 'pending';
