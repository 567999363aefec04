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

-- Bindings of apps and functions to services, projected from `spec.bindings` by the controllers of both kinds; the queue
-- `bindings` creates their users and databases. A row is removed once its user no longer exists on the server.
CREATE TABLE bindings (
  id uuid PRIMARY KEY,
  workload_id uuid NOT NULL REFERENCES workloads ON DELETE CASCADE,
  -- the service's name, in the environment of the workload
  service text NOT NULL,
  -- the binding in the spec; null once it is removed from there
  spec jsonb,
  -- The id of the service, and what the binding creates in it; written before it is created.
  service_id uuid,
  username text,
  database text,
  -- the bucket whose changes the object store reports to the platform for this binding
  event_bucket text,
  -- consecutive attempts that the service refused
  failures integer NOT NULL DEFAULT 0,
  UNIQUE (workload_id, service)
);

-- Databases and buckets that bindings created. They outlive their binding and the workload.
CREATE TABLE service_databases (
  service_id uuid NOT NULL,
  name text NOT NULL,
  -- the workload that owns it
  workload_id uuid NOT NULL,
  PRIMARY KEY (service_id, name)
);
