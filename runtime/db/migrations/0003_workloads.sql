-- Up Migration

-- Apps, functions and jobs, as the controllers project them from Kubernetes. Records refer to the id, never to the name, so
-- that a recreated workload inherits nothing (decision 0001).
CREATE TABLE workloads (
  id uuid PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('App', 'Function', 'Job')),
  environment_id uuid NOT NULL,
  project text NOT NULL,
  environment text NOT NULL,
  namespace text NOT NULL,
  name text NOT NULL,
  gated boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz
);

-- A name belongs to one existing workload.
CREATE UNIQUE INDEX workloads_name ON workloads (namespace, name) WHERE deleted_at IS NULL;
-- Lists the deployments of a project.
CREATE INDEX workloads_project ON workloads (project);
