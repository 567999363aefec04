-- Up Migration

ALTER TABLE deployments
  -- what the sender told about the commit, as far as it did
  ADD COLUMN commit_message text,
  ADD COLUMN commit_author text,
  ADD COLUMN branch text,
  ADD CONSTRAINT deployments_skipped CHECK ((revision IS NULL) = (state = 'skipped'));

-- Whoever waits for a deployment's end hears of it, whichever process wrote it.
CREATE FUNCTION tell_deployment_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('deployment_ends', NEW.id::text);
  RETURN NULL;
END $$;

CREATE TRIGGER deployments_end AFTER UPDATE OF ended_at ON deployments
  FOR EACH ROW WHEN (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL) EXECUTE FUNCTION tell_deployment_end();

ALTER TABLE webhooks
  -- the version before, which stays valid until then: the grace of a regenerated token
  ADD COLUMN previous_version integer,
  ADD COLUMN previous_until timestamptz,
  -- the only branch whose pushes deploy; null: that of the app's git source
  ADD COLUMN branch text,
  -- a pattern with * for the tags that a registry may deploy; null: any
  ADD COLUMN tags text,
  -- SHA-256 of the secret URL's last part; null: the app has no secret URL
  ADD COLUMN url_secret_hash bytea;

-- Every request to a webhook whose sender proved the token, for 30 days.
CREATE TABLE webhook_deliveries (
  id uuid PRIMARY KEY,
  workload_id uuid NOT NULL REFERENCES workloads ON DELETE CASCADE,
  received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  sender text NOT NULL,
  -- what the sender calls it, such as `push`
  event text,
  -- the sender's own name for the delivery
  delivery_id text,
  verdict text NOT NULL CHECK (verdict IN ('accepted', 'duplicate', 'skipped', 'ignored', 'refused')),
  -- the HTTP status that was answered
  status integer NOT NULL,
  -- of a refusal
  code text,
  -- why nothing was deployed
  reason text,
  deployment_id uuid REFERENCES deployments ON DELETE SET NULL,
  -- what a redelivery repeats, and who asked for it
  redelivery_of uuid,
  actor text,
  -- what was understood of the body; a redelivery goes by it
  notice jsonb,
  -- as it came, secrets masked, its beginning only when it is long
  body text NOT NULL,
  body_bytes integer NOT NULL
);

CREATE INDEX webhook_deliveries_list ON webhook_deliveries (workload_id, received_at DESC, id DESC);
CREATE INDEX webhook_deliveries_age ON webhook_deliveries (received_at);
CREATE INDEX webhook_deliveries_deployment ON webhook_deliveries (deployment_id);
