-- Up Migration

-- Where a project wants to be told of deployments that have ended. By the project's identity, so that one that is created
-- anew under an old name inherits none; the name is what `workloads` has, and never changes.
CREATE TABLE notification_targets (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL,
  project text NOT NULL,
  name text NOT NULL,
  -- may hold a secret of the receiver's, such as a token in its path
  url text NOT NULL,
  -- whsec_…, sealed with the platform's key ring
  secret text NOT NULL,
  -- such as deployment.failed
  events text[] NOT NULL,
  -- names; null for all
  apps text[],
  environments text[],
  enabled boolean NOT NULL DEFAULT true,
  -- why the platform itself disabled it
  disabled_reason text,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (project_id, name)
);

CREATE INDEX notification_targets_project ON notification_targets (project) WHERE enabled;

-- One message to one target, which keeps its id however often it is sent; its row of work is its retries.
CREATE TABLE notification_deliveries (
  id uuid PRIMARY KEY,
  target_id uuid NOT NULL REFERENCES notification_targets ON DELETE CASCADE,
  -- null for a test
  deployment_id uuid REFERENCES deployments ON DELETE CASCADE,
  type text NOT NULL,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- since when the attempts count: its creation, or the last redelivery that somebody asked for
  begun_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  ended_at timestamptz,
  UNIQUE (target_id, deployment_id)
);

CREATE INDEX notification_deliveries_list ON notification_deliveries (target_id, created_at DESC, id DESC);
CREATE INDEX notification_deliveries_deployment ON notification_deliveries (deployment_id);
CREATE INDEX notification_deliveries_ended ON notification_deliveries (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE notification_attempts (
  delivery_id uuid NOT NULL REFERENCES notification_deliveries ON DELETE CASCADE,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  duration_ms integer NOT NULL,
  -- of the answer; null when there was none
  status integer,
  -- why it does not count as delivered
  error text
);

CREATE INDEX notification_attempts_delivery ON notification_attempts (delivery_id, at);
