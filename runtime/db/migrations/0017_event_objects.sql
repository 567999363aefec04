-- Up Migration

-- What the buckets held that functions get events of, as of the last changes that were kept; read and written by the queue
-- `events` only.
CREATE TABLE event_objects (
  workload_id uuid NOT NULL REFERENCES workloads ON DELETE CASCADE,
  -- which bucket it is, see `originOf`
  origin text NOT NULL,
  -- UTF-8; kept as bytes, since listings are in their order
  key bytea NOT NULL,
  etag text NOT NULL,
  -- as the store writes it
  modified text NOT NULL,
  size bigint NOT NULL,
  PRIMARY KEY (workload_id, origin, key)
);
