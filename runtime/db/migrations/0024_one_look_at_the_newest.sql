-- Up Migration

-- As in migration 0021, with one look for what an app's newest deployment is: the greatest revision is the only one that
-- can be active, since every acceptance ends the one before. Looking for the active ones and for a key by itself could read
-- all of the app's history. A row of work is found by its record: the index of what is due keeps entries of rows that
-- are done until they are vacuumed, thousands of them in a burst.
CREATE OR REPLACE FUNCTION accept_deployment(app uuid, request jsonb) RETURNS acceptance
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
  accepted acceptance;
  deleted timestamptz;
  newest record;
  next integer;
  ended uuid[] := '{}';
  due timestamptz := now();
  skipped boolean := request @> '{"skipped": true}';
BEGIN
  -- Serialises an app's deployments: whoever holds its row is the only one to number and supersede.
  SELECT deleted_at INTO deleted FROM workloads WHERE id = app AND kind = 'App' FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE 'not_ready' USING ERRCODE = 'SV000';
  ELSIF deleted IS NOT NULL THEN
    RAISE 'not_found' USING ERRCODE = 'SV000';
  END IF;

  -- Whoever changes what counts as a proof takes the app's row, too.
  IF request ? 'proof' AND NOT EXISTS (
      SELECT FROM webhooks WHERE workload_id = app AND enabled AND (version = (request->'proof'->>'version')::integer
        OR (previous_version = (request->'proof'->>'version')::integer AND previous_until > clock_timestamp())
        OR url_secret_hash = decode(request->'proof'->>'url', 'hex'))) THEN
    RAISE 'invalid_webhook_token' USING ERRCODE = 'SV000';
  END IF;

  IF request ? 'dedupKey' THEN
    SELECT id, revision, state, false, '{}'::uuid[] INTO accepted FROM deployments
    WHERE workload_id = app AND dedup_key = request->>'dedupKey';
    IF FOUND THEN
      RETURN accepted;
    END IF;
  END IF;
  SELECT id, revision, state, ended_at INTO newest FROM deployments
  WHERE workload_id = app AND revision IS NOT NULL ORDER BY revision DESC LIMIT 1;
  IF newest.id IS NOT NULL AND request @> '{"onlyFirst": true}' THEN
    SELECT newest.id, newest.revision, newest.state, false, '{}'::uuid[] INTO accepted;
    RETURN accepted;
  END IF;
  next := COALESCE(newest.revision, 0) + 1;

  IF NOT skipped AND newest.id IS NOT NULL AND newest.ended_at IS NULL THEN
    ended := finish_deployments(ARRAY[newest.id], NULL, 'superseded', format('Superseded by revision %s.', next), NULL, true);
    WITH undone AS (
      UPDATE work SET state = 'done', done_at = now(), leased_until = NULL
      WHERE kind = 'rollouts' AND record_id = ANY(ended) AND state <> 'done'
      RETURNING record_id, due_at)
    -- One that has not begun leaves its turn to this one; a row that is under way is due at 'infinity'.
    SELECT GREATEST(due, max(COALESCE(started_at + interval '1 s', LEAST(due_at, now() + interval '1 s')))) INTO due
    FROM deployments LEFT JOIN undone ON record_id = id WHERE id = ANY(ended);
  END IF;
  INSERT INTO deployments (id, workload_id, revision, trigger, state, image, digest, commit, commit_message, commit_author,
    branch, actor, rollback_of, restores, automatic, promoted_from_environment, promoted_from_revision, reason, dedup_key,
    accepted_at, ended_at)
  SELECT given.id, app, CASE WHEN NOT skipped THEN next END, given.trigger,
    CASE WHEN skipped THEN 'skipped' ELSE 'accepted' END, COALESCE(given.image, ''), given.digest, given.commit,
    given."commitMessage", given."commitAuthor", given.branch, given.actor, given."rollbackOf", given.restores,
    COALESCE(given.automatic, false), given."promotedFrom"->>'environment', (given."promotedFrom"->>'revision')::integer,
    given.reason, given."dedupKey", clock_timestamp(), CASE WHEN skipped THEN clock_timestamp() END
  FROM jsonb_to_record(request) AS given (id uuid, trigger text, image text, digest text, commit text,
    "commitMessage" text, "commitAuthor" text, branch text, actor text, "rollbackOf" integer, restores text,
    automatic boolean, "promotedFrom" jsonb, reason text, "dedupKey" text)
  RETURNING id, revision, state, true, ended INTO accepted;
  IF NOT skipped THEN
    INSERT INTO work (id, kind, record_id, due_at)
    VALUES ((request->>'workId')::uuid, request->>'queue', accepted.id, due);
  END IF;
  RETURN accepted;
END $$;
