-- Up Migration

-- The address to which every line of the log store is also sent, in at most one row.
CREATE TABLE log_drains (
  id uuid PRIMARY KEY,
  url text NOT NULL,
  -- see runtime/domain/log-drain.ts
  format text NOT NULL,
  -- private networks in which the address may be
  networks text[] NOT NULL,
  header_names text[] NOT NULL,
  -- the sealed JSON of the headers; null without any
  headers text,
  -- where the next page of the log store begins; null before the first
  position text,
  sent_lines bigint NOT NULL DEFAULT 0,
  refused_lines bigint NOT NULL DEFAULT 0,
  -- lines that the log store deleted before they were sent
  deleted_lines bigint NOT NULL DEFAULT 0,
  pending_lines bigint NOT NULL DEFAULT 0,
  last_sent_at timestamptz,
  -- the time of the newest line that was sent
  last_line_at timestamptz,
  -- when lines were last refused or deleted
  dropped_at timestamptz,
  -- consecutive failures, the first and the reason of the last
  failures integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  error text,
  -- the last test line that was requested
  test_id uuid,
  test_state text,
  test_error text,
  test_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
