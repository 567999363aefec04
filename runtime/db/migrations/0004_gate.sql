-- Up Migration

CREATE TABLE plans (
  id uuid PRIMARY KEY,
  environment_id uuid NOT NULL,
  name text NOT NULL,
  -- per replica of the checker (spec.md §2.1)
  requests_per_second double precision NOT NULL CHECK (requests_per_second > 0),
  burst integer NOT NULL CHECK (burst > 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (environment_id, name)
);

CREATE TABLE api_keys (
  id uuid PRIMARY KEY,
  environment_id uuid NOT NULL,
  -- unique in the whole installation: the consumer's identifier in logs and usage URLs
  handle text NOT NULL UNIQUE,
  -- SHA-256 of the full key, which is shown once and stored nowhere
  digest bytea NOT NULL CHECK (length(digest) = 32),
  name text,
  plan_id uuid NOT NULL REFERENCES plans ON DELETE RESTRICT,
  -- ids of the workloads that the key opens; null for every app of its environment
  scope uuid[],
  enabled boolean NOT NULL DEFAULT true,
  expires_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by text NOT NULL
);

CREATE INDEX api_keys_environment ON api_keys (environment_id, id);
CREATE INDEX api_keys_plan ON api_keys (plan_id);

-- The gate's change feed (design.md §6). Every write to plans, api_keys or the columns of workloads that the gate knows
-- takes the next versions in its own transaction and holds the head until it commits: versions are in commit order and
-- have no gaps.
CREATE TABLE feed_head (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  -- another id means another history (a re-created database): replicas reload
  feed_id uuid NOT NULL DEFAULT gen_random_uuid(),
  version bigint NOT NULL DEFAULT 0
);

INSERT INTO feed_head DEFAULT VALUES;

CREATE TABLE changes (
  version bigint PRIMARY KEY,
  entity text NOT NULL CHECK (entity IN ('plan', 'key', 'workload')),
  entity_id uuid NOT NULL,
  -- a replica that finds another token at the version it applied last stands on a history that was lost (a failover to
  -- an older copy that has written since): it reloads
  token uuid NOT NULL DEFAULT gen_random_uuid(),
  at timestamptz NOT NULL DEFAULT now()
);

-- One call per statement, not per row: a bulk write moves the head once.
CREATE FUNCTION append_changes(entity text, ids uuid[]) RETURNS void LANGUAGE plpgsql
-- a writer that hangs while it holds the head makes the others fail after this, instead of hanging too
SET lock_timeout = '5s' AS $$
DECLARE
  head bigint;
BEGIN
  IF cardinality(ids) = 0 THEN
    RETURN;
  END IF;
  -- until the transaction ends: a writer that goes silent while it holds the head loses its connection
  PERFORM set_config('idle_in_transaction_session_timeout', '5s', true);
  UPDATE feed_head SET version = version + cardinality(ids) RETURNING version INTO head;
  INSERT INTO changes (version, entity, entity_id)
    SELECT head - cardinality(ids) + changed.position, append_changes.entity, changed.id
    FROM unnest(ids) WITH ORDINALITY AS changed (id, position);
  -- a replica further behind than this reloads
  DELETE FROM changes WHERE version <= head - 100000;
  PERFORM pg_notify('feed', head::text);
END $$;

CREATE FUNCTION feed_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM append_changes(TG_ARGV[0], ARRAY(SELECT id FROM new_rows));
  RETURN NULL;
END $$;

CREATE FUNCTION feed_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM append_changes(TG_ARGV[0], ARRAY(SELECT id FROM old_rows));
  RETURN NULL;
END $$;

CREATE FUNCTION feed_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM append_changes(TG_ARGV[0], ARRAY(
    SELECT id FROM (SELECT * FROM new_rows EXCEPT SELECT * FROM old_rows) AS changed));
  RETURN NULL;
END $$;

-- Workloads change at every deployment (next_revision); only what the gate knows counts.
CREATE FUNCTION feed_update_workloads() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM append_changes('workload', ARRAY(
    SELECT n.id FROM new_rows n JOIN old_rows o USING (id)
    WHERE (o.kind, o.environment_id, o.namespace, o.name, o.gated, o.deleted_at)
      IS DISTINCT FROM (n.kind, n.environment_id, n.namespace, n.name, n.gated, n.deleted_at)));
  RETURN NULL;
END $$;

CREATE TRIGGER plans_feed_insert AFTER INSERT ON plans
  REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION feed_insert('plan');
CREATE TRIGGER plans_feed_update AFTER UPDATE ON plans
  REFERENCING NEW TABLE AS new_rows OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION feed_update('plan');
CREATE TRIGGER plans_feed_delete AFTER DELETE ON plans
  REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION feed_delete('plan');

CREATE TRIGGER api_keys_feed_insert AFTER INSERT ON api_keys
  REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION feed_insert('key');
CREATE TRIGGER api_keys_feed_update AFTER UPDATE ON api_keys
  REFERENCING NEW TABLE AS new_rows OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION feed_update('key');
CREATE TRIGGER api_keys_feed_delete AFTER DELETE ON api_keys
  REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION feed_delete('key');

CREATE TRIGGER workloads_feed_insert AFTER INSERT ON workloads
  REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION feed_insert('workload');
CREATE TRIGGER workloads_feed_update AFTER UPDATE ON workloads
  REFERENCING NEW TABLE AS new_rows OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION feed_update_workloads();
CREATE TRIGGER workloads_feed_delete AFTER DELETE ON workloads
  REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION feed_delete('workload');
