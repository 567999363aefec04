-- Up Migration

CREATE TABLE plans (
  id uuid PRIMARY KEY,
  environment_id uuid NOT NULL,
  name text NOT NULL,
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
  digest bytea NOT NULL,
  name text,
  plan_id uuid NOT NULL REFERENCES plans ON DELETE RESTRICT,
  -- ids of the workloads that the key opens; null for every app of its environment
  scope uuid[],
  enabled boolean NOT NULL DEFAULT true,
  expires_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by text NOT NULL
);

-- The gate's change feed (design.md §6). Every write to plans, api_keys or the gated columns of workloads takes the next
-- version in its own transaction, so that versions are in commit order and have no gaps.
CREATE TABLE feed_head (
  only boolean PRIMARY KEY DEFAULT true CHECK (only),
  -- another id means another history (a restored or re-created database): replicas reload
  feed_id uuid NOT NULL DEFAULT gen_random_uuid(),
  version bigint NOT NULL DEFAULT 0
);

INSERT INTO feed_head DEFAULT VALUES;

CREATE TABLE changes (
  version bigint PRIMARY KEY,
  entity text NOT NULL CHECK (entity IN ('plan', 'key', 'workload')),
  entity_id uuid NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);

CREATE FUNCTION append_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  next_version bigint;
BEGIN
  UPDATE feed_head SET version = version + 1 RETURNING version INTO next_version;
  INSERT INTO changes (version, entity, entity_id) VALUES (next_version, TG_ARGV[0], COALESCE(NEW.id, OLD.id));
  PERFORM pg_notify('feed', next_version::text);
  RETURN NULL;
END $$;

CREATE TRIGGER plans_feed AFTER INSERT OR UPDATE OR DELETE ON plans
  FOR EACH ROW EXECUTE FUNCTION append_change('plan');
CREATE TRIGGER api_keys_feed AFTER INSERT OR UPDATE OR DELETE ON api_keys
  FOR EACH ROW EXECUTE FUNCTION append_change('key');
CREATE TRIGGER workloads_feed_insert AFTER INSERT OR DELETE ON workloads
  FOR EACH ROW EXECUTE FUNCTION append_change('workload');
CREATE TRIGGER workloads_feed_update AFTER UPDATE OF gated, deleted_at, name, namespace, environment_id ON workloads
  FOR EACH ROW WHEN (
    (OLD.gated, OLD.deleted_at, OLD.name, OLD.namespace, OLD.environment_id)
    IS DISTINCT FROM (NEW.gated, NEW.deleted_at, NEW.name, NEW.namespace, NEW.environment_id))
  EXECUTE FUNCTION append_change('workload');
