-- Up Migration

-- The webhook of an app. The token is sealed in a Secret of the cluster under the key `v<version>`; which version is valid
-- is decided here, in the transaction that accepts a deployment.
CREATE TABLE webhooks (
  workload_id uuid PRIMARY KEY REFERENCES workloads ON DELETE CASCADE,
  enabled boolean NOT NULL,
  version integer NOT NULL,
  -- the version before a regeneration, which stays valid until previous_until
  previous_version integer,
  previous_until timestamptz,
  -- the only branch that pushes deploy; null for the branch of the app's git source
  branch text,
  -- a pattern with * for the tags that a registry may deploy; null for all
  tags text,
  -- SHA-256 of the last part of the secret URL; null when the app has none
  url_secret_hash bytea,
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- Requests to webhooks whose sender proved the token, kept for 30 days.
CREATE TABLE webhook_deliveries (
  id uuid PRIMARY KEY,
  workload_id uuid NOT NULL REFERENCES workloads ON DELETE CASCADE,
  received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  sender text NOT NULL,
  -- the sender's name for the event, such as `push`
  event text,
  -- the sender's id of the delivery
  delivery_id text,
  verdict text NOT NULL CHECK (verdict IN ('accepted', 'duplicate', 'skipped', 'ignored', 'refused')),
  -- the HTTP status of the response
  status integer NOT NULL,
  -- the error code of a refusal
  code text,
  -- why nothing was deployed
  reason text,
  deployment_id uuid REFERENCES deployments ON DELETE SET NULL,
  -- for a redelivery: the delivery that it repeats, and the user who requested it
  redelivery_of uuid,
  actor text,
  -- the webhook event that was parsed from the body; a redelivery uses it
  webhook_event jsonb,
  -- as received, with secrets masked; a long body is truncated
  body text NOT NULL,
  -- the size as received
  body_bytes integer NOT NULL
);

-- Lists the deliveries of an app, newest first.
CREATE INDEX webhook_deliveries_list ON webhook_deliveries (workload_id, received_at DESC, id DESC);
-- Removes old deliveries.
CREATE INDEX webhook_deliveries_age ON webhook_deliveries (received_at);
-- Serves the foreign key.
CREATE INDEX webhook_deliveries_deployment ON webhook_deliveries (deployment_id);
