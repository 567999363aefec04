-- Up Migration

-- Event sources of functions, projected from `Function.spec.events` by the Function controller and read by the queue
-- `events`.
CREATE TABLE event_sources (
  workload_id uuid PRIMARY KEY REFERENCES workloads ON DELETE CASCADE,
  -- `Function.spec.events` as last projected
  settings jsonb NOT NULL,
  -- a digest of what gives event ids their meaning, see `originOf`
  origin text NOT NULL,
  -- number of polls; results of an older poll are rejected
  poll bigint NOT NULL DEFAULT 0,
  -- when the last poll ended, at the source's end or because there was no room for more events
  polled_at timestamptz,
  -- whether the last poll ended for lack of room
  more boolean NOT NULL DEFAULT false,
  -- Since when the source has a mark-done statement, if events delivered before then may still have to be marked.
  marks_since timestamptz,
  -- why polling or marking failed; null if both succeeded
  error text,
  failures integer NOT NULL DEFAULT 0
);

-- Events from the sources. An id is present once for as long as the event counts as seen. fillfactor: a lease, its renewal
-- and its end change no indexed column, so with free space on the page PostgreSQL need not touch the indexes.
CREATE TABLE function_events (
  -- in the order of the source
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  workload_id uuid NOT NULL REFERENCES workloads ON DELETE CASCADE,
  origin text NOT NULL,
  -- the source's id of the event
  event_id text NOT NULL,
  -- JSON, as delivered; empty after the delivery
  payload text NOT NULL,
  -- pending: to be delivered. delivered: to be marked as done in the source. known: kept only so that it is not delivered
  -- again. dead: a dead letter
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'known', 'dead')),
  found_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Age and attempts count from here: when it was found, or redriven.
  begun_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- pending: end of the lease, or time of the next attempt; delivered: time of the next attempt to mark it
  due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- whether the newest lease has no answer yet
  leased boolean NOT NULL DEFAULT false,
  -- number of leases; an answer to an older lease is ignored
  epoch integer NOT NULL DEFAULT 0,
  -- failed deliveries; after the delivery, failed attempts to mark it
  failures integer NOT NULL DEFAULT 0,
  last_error text,
  -- when it became known or dead
  ended_at timestamptz,
  UNIQUE (workload_id, origin, event_id)
) WITH (fillfactor = 70);

-- Lists the events of a function by state. None contains due_at, see above.
CREATE INDEX function_events_pending ON function_events (workload_id, id) WHERE state = 'pending';
CREATE INDEX function_events_delivered ON function_events (workload_id, id) WHERE state = 'delivered';
CREATE INDEX function_events_dead ON function_events (workload_id, id DESC) WHERE state = 'dead';
-- Removes old dead letters.
CREATE INDEX function_events_dead_age ON function_events (ended_at) WHERE state = 'dead';

-- The objects of the buckets that functions receive events from, as of the last changes that were kept. Only the queue
-- `events` uses it.
CREATE TABLE event_objects (
  workload_id uuid NOT NULL REFERENCES workloads ON DELETE CASCADE,
  -- identifies the bucket, see `originOf`
  origin text NOT NULL,
  -- UTF-8, as bytes because listings are in byte order
  key bytea NOT NULL,
  etag text NOT NULL,
  -- as the store writes it
  modified text NOT NULL,
  size bigint NOT NULL,
  PRIMARY KEY (workload_id, origin, key)
);

-- Notices of object stores about changes in their buckets, for each function that receives events from the bucket, until
-- the queue `events` has compared them with `event_objects`.
CREATE TABLE object_notices (
  id bigint GENERATED ALWAYS AS IDENTITY,
  workload_id uuid NOT NULL REFERENCES workloads ON DELETE CASCADE,
  -- identifies the bucket, see `originOf`
  origin text NOT NULL,
  event text NOT NULL CHECK (event IN ('created', 'removed')),
  -- As in `event_objects`. For a removed object, `modified` is the time of the removal; ETag and size are empty.
  key bytea NOT NULL,
  etag text NOT NULL,
  modified text NOT NULL,
  size bigint NOT NULL,
  PRIMARY KEY (workload_id, origin, id)
);
