-- Up Migration

-- Counts the deployments that ended lately, for alerts.
CREATE INDEX deployments_recent ON deployments (ended_at) WHERE state IN ('failed', 'succeeded');

-- An alert from when the platform first saw it fire until it has not fired for a while.
CREATE TABLE alert_episodes (
  id uuid PRIMARY KEY,
  -- the identity of the alert: a digest of its labels
  fingerprint text NOT NULL,
  -- what notifications say: name, severity, scope, labels, texts
  alert jsonb NOT NULL,
  started_at timestamptz NOT NULL,
  -- Since when it has not been listed: it is over after a while only, because Alertmanager forgets alerts when it starts.
  missing_since timestamptz,
  ended_at timestamptz
);

CREATE UNIQUE INDEX alert_episodes_open ON alert_episodes (fingerprint) WHERE ended_at IS NULL;
-- Removes old ones.
CREATE INDEX alert_episodes_ended ON alert_episodes (ended_at) WHERE ended_at IS NOT NULL;

-- Targets of the platform, which get alerts, have the project id 00000000-0000-7000-8000-000000000002 and no project name,
-- so that no deployment of a project has them.
ALTER TABLE notification_deliveries ADD COLUMN alert_id uuid REFERENCES alert_episodes ON DELETE CASCADE,
  ADD CONSTRAINT notification_deliveries_alert UNIQUE (target_id, alert_id, type);
-- Serves the foreign key.
CREATE INDEX notification_deliveries_alerts ON notification_deliveries (alert_id) WHERE alert_id IS NOT NULL;
