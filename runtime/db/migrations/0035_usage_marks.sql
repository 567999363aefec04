-- Up Migration

-- As before, but the tokens of the newest 10,000 versions: a batch of usage has a tenth of the rows that it had, so there
-- are more versions in the same time.
CREATE OR REPLACE FUNCTION next_usage_version() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  next_version bigint;
BEGIN
  PERFORM set_config('idle_in_transaction_session_timeout', '5s', true);
  UPDATE usage_head SET version = version + 1 RETURNING version INTO next_version;
  INSERT INTO usage_marks (version) VALUES (next_version);
  -- A replica that is further behind reads all usage again.
  DELETE FROM usage_marks WHERE version <= next_version - 10000;
  RETURN next_version;
END $$;
