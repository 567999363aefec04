-- Up Migration

-- One row for each run of a checker process: how far it has applied the feed, and whether it may write usage.
CREATE TABLE gate_replicas (
  incarnation uuid PRIMARY KEY,
  -- the pod's name
  name text NOT NULL,
  -- the feed's position in the replica's memory; null before the first load
  feed_id uuid,
  applied_version bigint,
  -- when the replica reached that position
  applied_at timestamptz,
  started_at timestamptz NOT NULL DEFAULT now(),
  seen_at timestamptz NOT NULL DEFAULT now(),
  -- the newest batch of usage that it wrote
  flushes bigint NOT NULL DEFAULT 0,
  -- The process ended, or was not seen for too long: it can no longer write usage.
  closed_at timestamptz,
  -- when its usage was moved to the row of the nil UUID
  folded_at timestamptz
);

-- Finds processes that have ended and whose usage has not been folded.
CREATE INDEX gate_replicas_open ON gate_replicas (seen_at) WHERE folded_at IS NULL;

-- Orders writes to usage by commit, in one row: a replica that has read everything up to the head has missed nothing.
CREATE TABLE usage_head (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  version bigint NOT NULL DEFAULT 0
);

INSERT INTO usage_head DEFAULT VALUES;

-- Tokens of the newest 1,000 versions. As in `changes`, a different token at a known version means that the history was
-- lost: the replica reads all usage again.
CREATE TABLE usage_marks (
  version bigint PRIMARY KEY,
  token uuid NOT NULL DEFAULT gen_random_uuid()
);

-- Verdicts per key and UTC day. Each process writes its own absolute counts, so that a repeated write does not count twice.
-- Counts of processes that have ended are folded into the row of the nil UUID.
CREATE TABLE usage (
  key_id uuid NOT NULL REFERENCES api_keys ON DELETE CASCADE,
  day date NOT NULL,
  incarnation uuid NOT NULL,
  allowed bigint NOT NULL DEFAULT 0,
  rate_denied bigint NOT NULL DEFAULT 0,
  quota_denied bigint NOT NULL DEFAULT 0,
  -- the version of usage_head at the last write
  version bigint NOT NULL,
  PRIMARY KEY (key_id, day, incarnation)
);

-- Reads what changed after a version.
CREATE INDEX usage_version ON usage (version);
-- Folds the usage of a process.
CREATE INDEX usage_incarnation ON usage (incarnation);
-- Removes old usage.
CREATE INDEX usage_day ON usage (day);

-- Takes the next version for the usage that the rest of the transaction writes.
CREATE FUNCTION next_usage_version() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  next_version bigint;
BEGIN
  PERFORM set_config('idle_in_transaction_session_timeout', '5s', true);
  UPDATE usage_head SET version = version + 1 RETURNING version INTO next_version;
  INSERT INTO usage_marks (version) VALUES (next_version);
  -- A replica that is further behind reads all usage again.
  DELETE FROM usage_marks WHERE version <= next_version - 1000;
  RETURN next_version;
END $$;

-- Writes one batch of absolute counts. Returns false and writes nothing when the incarnation is closed or unknown. A batch
-- may be repeated. Deleted keys are skipped. Days are text because drivers convert dates to times.
CREATE FUNCTION flush_usage(writer uuid, batch bigint, keys uuid[], days text[], allows bigint[], rates bigint[],
  quotas bigint[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  next_version bigint;
BEGIN
  PERFORM set_config('lock_timeout', '5s', true);
  UPDATE gate_replicas SET flushes = GREATEST(flushes, batch) WHERE incarnation = writer AND closed_at IS NULL;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  next_version := next_usage_version();
  -- Shorter than deadlock_timeout: a concurrent deletion of keys wins, and the batch is repeated.
  PERFORM set_config('lock_timeout', '800ms', true);
  INSERT INTO usage (key_id, day, incarnation, allowed, rate_denied, quota_denied, version)
    SELECT batch_row.key_id, batch_row.day::date, writer, batch_row.allowed, batch_row.rate, batch_row.quota, next_version
    FROM unnest(keys, days, allows, rates, quotas) AS batch_row (key_id, day, allowed, rate, quota)
    WHERE EXISTS (SELECT FROM api_keys WHERE id = batch_row.key_id)
    ORDER BY 1, 2
  ON CONFLICT (key_id, day, incarnation) DO UPDATE SET
    allowed = GREATEST(usage.allowed, excluded.allowed), rate_denied = GREATEST(usage.rate_denied, excluded.rate_denied),
    quota_denied = GREATEST(usage.quota_denied, excluded.quota_denied), version = excluded.version;
  RETURN true;
END $$;
