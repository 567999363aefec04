-- Up Migration

-- What object stores told of their buckets, for each function whose events come from one, until the queue `events` has compared
-- it with what it knows of the bucket.
CREATE TABLE object_notices (
  id bigint GENERATED ALWAYS AS IDENTITY,
  workload_id uuid NOT NULL REFERENCES workloads ON DELETE CASCADE,
  -- which bucket it is, see `originOf`
  origin text NOT NULL,
  event text NOT NULL CHECK (event IN ('created', 'removed')),
  -- as in `event_objects`; of one that was removed `modified` is when that was, and there is neither ETag nor size
  key bytea NOT NULL,
  etag text NOT NULL,
  modified text NOT NULL,
  size bigint NOT NULL,
  PRIMARY KEY (workload_id, origin, id)
);

-- The bucket of its service that the platform hears of for this binding.
ALTER TABLE function_bindings ADD COLUMN heard_bucket text;

-- Buckets that functions got their events from before are heard of, too, once their servers have been started anew.
UPDATE work SET due_at = LEAST(due_at, now() + interval '2 minutes')
  FROM function_bindings WHERE work.kind = 'bindings' AND work.record_id = function_bindings.id
    AND function_bindings.wish ? 'bucket' AND work.state = 'pending';
