-- Up Migration

-- Bindings of functions to services as the Function controller projects them out of `Function.spec.bindings`; the queue
-- `bindings` makes them real. A row goes when the user that was made for it is gone from the server.
CREATE TABLE function_bindings (
  id uuid PRIMARY KEY,
  workload_id uuid NOT NULL REFERENCES workloads ON DELETE CASCADE,
  -- the service's name, in the environment of the function
  service text NOT NULL,
  -- what the spec says of it; null once it says nothing any more
  wish jsonb,
  -- the service in which something was made, by its id, and what: written before it is made
  service_id uuid,
  username text,
  database text,
  -- attempts in a row that the service refused
  failures integer NOT NULL DEFAULT 0,
  UNIQUE (workload_id, service)
);

-- Databases and buckets that were made for functions: they outlive their binding, and the function.
CREATE TABLE service_databases (
  service_id uuid NOT NULL,
  name text NOT NULL,
  -- the function that it was made for
  workload_id uuid NOT NULL,
  made_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (service_id, name)
);
