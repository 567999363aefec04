-- Up Migration

-- A quota of allowed requests per UTC calendar period (spec.md §2.1); both or neither.
ALTER TABLE plans
  ADD COLUMN quota_limit bigint CHECK (quota_limit > 0),
  ADD COLUMN quota_period text CHECK (quota_period IN ('day', 'week', 'month')),
  ADD CONSTRAINT plans_quota_whole CHECK ((quota_limit IS NULL) = (quota_period IS NULL));

ALTER TABLE api_keys
  -- the client addresses that may use the key; null for all
  ADD COLUMN allowed_cidrs cidr[] CHECK (cardinality(allowed_cidrs) > 0),
  -- the key that took its place when it was rotated
  ADD COLUMN replaced_by uuid REFERENCES api_keys ON DELETE SET NULL;

-- One row per process life of a checker: how far it has applied the change feed, and whose usage is whose.
CREATE TABLE gate_replicas (
  incarnation uuid PRIMARY KEY,
  -- the pod's name
  name text NOT NULL,
  -- the position of the feed that its view holds; null before the first load
  feed_id uuid,
  applied_version bigint,
  -- when that position was reached
  applied_at timestamptz,
  started_at timestamptz NOT NULL DEFAULT now(),
  seen_at timestamptz NOT NULL DEFAULT now(),
  -- how many batches of usage it has written
  flushes bigint NOT NULL DEFAULT 0,
  -- ended in good order, or not seen for so long that it counts as gone; it can write no more usage
  closed_at timestamptz,
  -- its usage stands in the row of the nil UUID since then
  folded_at timestamptz
);

CREATE INDEX gate_replicas_open ON gate_replicas (seen_at) WHERE folded_at IS NULL;

-- Orders the writes to usage by their commits, as feed_head does for the feed: a replica that has read everything up
-- to the head has missed nothing.
CREATE TABLE usage_head (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  version bigint NOT NULL DEFAULT 0
);

INSERT INTO usage_head DEFAULT VALUES;

-- As the tokens of changes: a replica that finds another one at the version it applied last stands on a history that
-- was lost, and reads all usage anew.
CREATE TABLE usage_marks (
  version bigint PRIMARY KEY,
  token uuid NOT NULL DEFAULT gen_random_uuid()
);

-- Verdicts per key and UTC day (spec.md §2.2). Each process life writes its own absolute counts, so that a repeated
-- write cannot count twice; those of closed lives are folded into the row of the nil UUID.
CREATE TABLE usage (
  key_id uuid NOT NULL REFERENCES api_keys ON DELETE CASCADE,
  day date NOT NULL,
  incarnation uuid NOT NULL,
  allowed bigint NOT NULL DEFAULT 0,
  rate_denied bigint NOT NULL DEFAULT 0,
  quota_denied bigint NOT NULL DEFAULT 0,
  -- of usage_head, when it was last written
  version bigint NOT NULL,
  PRIMARY KEY (key_id, day, incarnation)
);

CREATE INDEX usage_version ON usage (version);
CREATE INDEX usage_incarnation ON usage (incarnation);
CREATE INDEX usage_day ON usage (day);

-- Takes the next version of usage for what the rest of the transaction writes.
CREATE FUNCTION next_usage_version() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  taken bigint;
BEGIN
  PERFORM set_config('idle_in_transaction_session_timeout', '5s', true);
  UPDATE usage_head SET version = version + 1 RETURNING version INTO taken;
  INSERT INTO usage_marks (version) VALUES (taken);
  -- a replica further behind than this reads all usage anew
  DELETE FROM usage_marks WHERE version <= taken - 1000;
  RETURN taken;
END $$;

-- Writes one batch of absolute counts. False, and nothing is written, when the incarnation is closed or was never
-- recorded. A batch may be repeated. Keys that are gone are skipped. Days come as text: drivers make times of dates.
CREATE FUNCTION flush_usage(writer uuid, batch bigint, keys uuid[], days text[], allows bigint[], rates bigint[],
  quotas bigint[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  taken bigint;
BEGIN
  PERFORM set_config('lock_timeout', '5s', true);
  UPDATE gate_replicas SET flushes = GREATEST(flushes, batch) WHERE incarnation = writer AND closed_at IS NULL;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  taken := next_usage_version();
  -- Shorter than deadlock_timeout: whoever deletes keys at the same moment wins, and the batch is repeated.
  PERFORM set_config('lock_timeout', '800ms', true);
  INSERT INTO usage (key_id, day, incarnation, allowed, rate_denied, quota_denied, version)
    SELECT batch_row.key_id, batch_row.day::date, writer, batch_row.allowed, batch_row.rate, batch_row.quota, taken
    FROM unnest(keys, days, allows, rates, quotas) AS batch_row (key_id, day, allowed, rate, quota)
    WHERE EXISTS (SELECT FROM api_keys WHERE id = batch_row.key_id)
    ORDER BY 1, 2
  ON CONFLICT (key_id, day, incarnation) DO UPDATE SET
    allowed = GREATEST(usage.allowed, excluded.allowed), rate_denied = GREATEST(usage.rate_denied, excluded.rate_denied),
    quota_denied = GREATEST(usage.quota_denied, excluded.quota_denied), version = excluded.version;
  RETURN true;
END $$;
