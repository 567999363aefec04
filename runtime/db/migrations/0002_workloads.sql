-- Up Migration

-- What the App and Function controllers project out of Kubernetes: records refer to the id, never to the name,
-- so that a recreated `api` inherits nothing (decision 0001).
CREATE TABLE workloads (
  id uuid PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('App', 'Function', 'Job')),
  environment_id uuid NOT NULL,
  project text NOT NULL,
  environment text NOT NULL,
  namespace text NOT NULL,
  name text NOT NULL,
  gated boolean NOT NULL DEFAULT false,
  next_revision integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz
);

CREATE UNIQUE INDEX workloads_name ON workloads (namespace, name) WHERE deleted_at IS NULL;

-- Webhook of an app. The token itself is sealed in a Secret of the cluster, under the key `v<version>`;
-- which version counts is decided here, in the transaction that accepts (spec.md §2.3).
CREATE TABLE webhooks (
  workload_id uuid PRIMARY KEY REFERENCES workloads ON DELETE CASCADE,
  enabled boolean NOT NULL,
  version integer NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now()
);
