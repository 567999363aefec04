-- Up Migration

-- Data sources of functions as the Function controller projects them out of `Function.spec.events`; read by the queue
-- `events`.
CREATE TABLE event_sources (
  workload_id uuid PRIMARY KEY REFERENCES workloads ON DELETE CASCADE,
  -- `Function.spec.events` as it is read
  settings jsonb NOT NULL,
  -- what decides which event an id stands for, see `originOf`
  origin text NOT NULL,
  -- counts times that it was read; what an older one brings is not taken any more
  poll bigint NOT NULL DEFAULT 0,
  -- the last time that it was read to its end, or to where there was no more room
  polled_at timestamptz,
  -- whether there was no more room for all of it then
  more boolean NOT NULL DEFAULT false,
  -- why it could not be read, or nothing marked as done; null when both went well
  error text,
  failures integer NOT NULL DEFAULT 0
);

-- What was found in the sources, and what became of it. An id is there once for as long as it counts as seen.
CREATE TABLE function_events (
  -- in the order in which they were found, which is that of the source
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  workload_id uuid NOT NULL REFERENCES workloads ON DELETE CASCADE,
  origin text NOT NULL,
  -- what the source calls it
  event_id text NOT NULL,
  -- JSON as it is delivered; empty once it was
  payload text NOT NULL,
  -- pending: to be delivered. delivered: to be marked as done in the source. known: nothing is to be done, it is only not
  -- to be delivered again. dead: given up
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'known', 'dead')),
  found_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- since when age and attempts count: when it was found, or redriven
  begun_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- of pending ones: until then it is leased, or waits for its next attempt; of delivered ones: for the next marking
  due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- whether the newest lease was not answered
  leased boolean NOT NULL DEFAULT false,
  -- counts leases; an answer to an older one is not heard
  epoch integer NOT NULL DEFAULT 0,
  -- deliveries that failed; once it was delivered, markings that did
  failures integer NOT NULL DEFAULT 0,
  last_error text,
  -- since when it is known or dead
  ended_at timestamptz,
  UNIQUE (workload_id, origin, event_id)
);

CREATE INDEX function_events_pending ON function_events (workload_id, id) WHERE state = 'pending';
CREATE INDEX function_events_delivered ON function_events (workload_id, due_at) WHERE state = 'delivered';
CREATE INDEX function_events_dead ON function_events (workload_id, id DESC) WHERE state = 'dead';
CREATE INDEX function_events_dead_age ON function_events (ended_at) WHERE state = 'dead';
