-- Up Migration

-- Tasks for the queues: outbox, retry schedule and sweeper in one. The dispatcher hands a due row to its queue and leases
-- it for the duration of the attempt. A row whose lease expires without an outcome is due again. All times are the
-- database's.
CREATE TABLE work (
  id uuid PRIMARY KEY,
  -- the queue, see runtime/queues/catalogue.ts
  kind text NOT NULL,
  -- the record that the task is about; its table depends on the queue
  record_id uuid NOT NULL,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'done')),
  -- when the next attempt is due; 'infinity' during an attempt unless another one was requested meanwhile
  due_at timestamptz NOT NULL DEFAULT now(),
  -- number of attempts handed to the queue; part of the BullMQ job's id, and the fence for the attempt's outcome
  attempt integer NOT NULL DEFAULT 0,
  -- deadline of the current attempt
  leased_until timestamptz,
  -- whether a worker has started the current attempt; no other worker may start it
  begun boolean NOT NULL DEFAULT false,
  -- consecutive failures; reset by an attempt that makes progress
  failures integer NOT NULL DEFAULT 0,
  last_error text,
  created_at timestamptz NOT NULL DEFAULT now(),
  done_at timestamptz,
  UNIQUE (kind, record_id)
);

-- Finds due work of a queue, and expired leases.
CREATE INDEX work_due ON work (kind, COALESCE(leased_until, due_at)) WHERE state = 'pending';

-- The latest health report of the svc-controllers leader, in one row. console-api serves it, and reports the controllers as
-- unhealthy when it is too old.
CREATE TABLE controller_reports (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  report jsonb NOT NULL,
  reported_at timestamptz NOT NULL DEFAULT now()
);
