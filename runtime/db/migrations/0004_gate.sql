-- Up Migration

-- Limits for API keys.
CREATE TABLE plans (
  id uuid PRIMARY KEY,
  environment_id uuid NOT NULL,
  name text NOT NULL,
  -- for each replica of the checker
  requests_per_second double precision NOT NULL CHECK (requests_per_second > 0),
  burst integer NOT NULL CHECK (burst > 0),
  -- allowed requests per UTC calendar period; null for no quota
  quota_limit bigint CHECK (quota_limit > 0),
  quota_period text CHECK (quota_period IN ('day', 'week', 'month')),
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (environment_id, name),
  CONSTRAINT plans_quota_whole CHECK ((quota_limit IS NULL) = (quota_period IS NULL))
);

CREATE TABLE api_keys (
  id uuid PRIMARY KEY,
  environment_id uuid NOT NULL,
  -- identifies the key in logs and usage URLs; unique in the installation
  handle text NOT NULL UNIQUE,
  -- SHA-256 of the full key; the key itself is returned once and not stored
  digest bytea NOT NULL CHECK (length(digest) = 32),
  name text,
  plan_id uuid NOT NULL REFERENCES plans ON DELETE RESTRICT,
  -- ids of the workloads that accept the key; null for all apps of its environment
  scope uuid[],
  -- client addresses that may use the key; null for all
  allowed_cidrs cidr[] CHECK (cardinality(allowed_cidrs) > 0),
  enabled boolean NOT NULL DEFAULT true,
  expires_at timestamptz,
  -- the successor of a rotated key
  replaced_by uuid REFERENCES api_keys ON DELETE SET NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by text NOT NULL
);

-- Lists the keys of an environment.
CREATE INDEX api_keys_environment ON api_keys (environment_id, id);
-- Counts the keys on a plan, and serves the foreign key.
CREATE INDEX api_keys_plan ON api_keys (plan_id);
-- Serves the foreign key: without it, deleting a key reads the whole table.
CREATE INDEX api_keys_replaced_by ON api_keys (replaced_by) WHERE replaced_by IS NOT NULL;

-- The feed: the ordered list of changes that every checker replica follows. A write to plans, api_keys or the columns of
-- workloads that the gate uses takes the next versions in its own transaction and locks the head until it commits.
-- Versions are therefore in commit order, without gaps.

-- The feed's newest version, in one row.
CREATE TABLE feed_head (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  -- A different id means a different history (a recreated database): replicas reload.
  feed_id uuid NOT NULL DEFAULT gen_random_uuid(),
  version bigint NOT NULL DEFAULT 0
);

INSERT INTO feed_head DEFAULT VALUES;

-- The newest 100,000 changes.
CREATE TABLE changes (
  version bigint PRIMARY KEY,
  entity text NOT NULL CHECK (entity IN ('plan', 'key', 'workload')),
  entity_id uuid NOT NULL,
  -- A replica that sees a different token at the last version it applied has followed a history that was lost (failover to
  -- an older copy that has since been written to): it reloads.
  token uuid NOT NULL DEFAULT gen_random_uuid(),
  at timestamptz NOT NULL DEFAULT now()
);

-- Appends one change for each id. Called once per statement, so that a bulk write locks the head once. lock_timeout: when
-- a writer hangs while it holds the head, the other writers fail instead of hanging too.
CREATE FUNCTION append_changes(entity text, ids uuid[]) RETURNS void LANGUAGE plpgsql SET lock_timeout = '5s' AS $$
DECLARE
  head bigint;
BEGIN
  IF cardinality(ids) = 0 THEN
    RETURN;
  END IF;
  -- For the rest of the transaction: a writer that goes silent while it holds the head loses its connection.
  PERFORM set_config('idle_in_transaction_session_timeout', '5s', true);
  UPDATE feed_head SET version = version + cardinality(ids) RETURNING version INTO head;
  INSERT INTO changes (version, entity, entity_id)
    SELECT head - cardinality(ids) + changed.position, append_changes.entity, changed.id
    FROM unnest(ids) WITH ORDINALITY AS changed (id, position);
  -- A replica that is further behind reloads.
  DELETE FROM changes WHERE version <= head - 100000;
  PERFORM pg_notify('feed', head::text);
END $$;

-- Triggers that append changes; their argument is the entity.
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

-- As feed_update, for the columns that the gate uses.
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
