-- Up Migration

-- URLs that receive a message when a deployment of a project ends. The project is identified by its id, so that a project
-- that is recreated with an old name has none; its name is kept because `workloads` has it, and never changes.
CREATE TABLE notification_targets (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL,
  project text NOT NULL,
  name text NOT NULL,
  -- may contain a secret of the receiver, such as a token in its path
  url text NOT NULL,
  -- whsec_…, sealed with the platform's key ring
  secret text NOT NULL,
  -- such as deployment.failed
  events text[] NOT NULL,
  -- names; null for all
  apps text[],
  environments text[],
  enabled boolean NOT NULL DEFAULT true,
  -- why the platform disabled it
  disabled_reason text,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (project_id, name)
);

-- Finds the targets for the end of a deployment.
CREATE INDEX notification_targets_project ON notification_targets (project) WHERE enabled;

-- One message to one target. It keeps its id on every retry; its work row is the retry schedule.
CREATE TABLE notification_deliveries (
  id uuid PRIMARY KEY,
  target_id uuid NOT NULL REFERENCES notification_targets ON DELETE CASCADE,
  -- null for a test message
  deployment_id uuid REFERENCES deployments ON DELETE CASCADE,
  type text NOT NULL,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Attempts count from here: its creation, or the last redelivery that a user requested.
  begun_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  ended_at timestamptz,
  UNIQUE (target_id, deployment_id)
);

-- Lists the deliveries of a target, newest first.
CREATE INDEX notification_deliveries_list ON notification_deliveries (target_id, created_at DESC, id DESC);
-- Serves the foreign key.
CREATE INDEX notification_deliveries_deployment ON notification_deliveries (deployment_id);
-- Removes old deliveries.
CREATE INDEX notification_deliveries_ended ON notification_deliveries (ended_at) WHERE ended_at IS NOT NULL;

-- Attempts to send a delivery.
CREATE TABLE notification_attempts (
  delivery_id uuid NOT NULL REFERENCES notification_deliveries ON DELETE CASCADE,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  duration_ms integer NOT NULL,
  -- the HTTP status of the response; null if there was none
  status integer,
  -- why the attempt failed
  error text
);

-- Lists the attempts of a delivery, and serves the foreign key.
CREATE INDEX notification_attempts_delivery ON notification_attempts (delivery_id, at);
