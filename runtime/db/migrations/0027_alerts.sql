-- Up Migration

-- Counts the deployments that ended lately, for alerts.
CREATE INDEX deployments_recent ON deployments (ended_at) WHERE state IN ('failed', 'succeeded');
