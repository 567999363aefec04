-- Up Migration

-- The leader of svc-controllers writes its health report here; console-api serves it and calls an old one unhealthy.
CREATE TABLE controller_reports (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  report jsonb NOT NULL,
  reported_at timestamptz NOT NULL DEFAULT now()
);
