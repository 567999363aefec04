-- Up Migration

-- Accepting and ending deployments (decision 0015). These are functions in PL/pgSQL because each statement of one sees what
-- was committed while an earlier statement waited for the app's row.
--
-- A call costs as few statements as possible, because that limits how many acceptances a second are durable. Their plans are
-- generic: PostgreSQL would otherwise plan `= ANY (…)` again at every call, which takes a third of the time. A generic plan
-- is kept even if it was made while a table had one page, which is read fastest as a whole, and a burst of webhooks can add
-- thousands of rows before the plan is made again. seq_page_cost prices a full read as that of a large table, so that
-- every plan uses an index.

-- Ends the deployments `ids`; nothing else ends deployments. In the same transaction it writes the notifications for the
-- project's enabled targets with their work, and makes the builds of the deployments due so that they are stopped.
-- `from_states`: ends only deployments in these states; null for all that are active.
-- `reason`, `digest`: null keeps the current value; a digest is written only once.
-- `quiet`: sends no NOTIFY; the caller announces the end and the work.
-- Returns the ids of the deployments that it ended.
CREATE FUNCTION end_deployments(ids uuid[], from_states text[], end_state text, reason text, digest text,
  quiet boolean DEFAULT false)
RETURNS uuid[] LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET seq_page_cost = 100 AS $$
DECLARE
  ended uuid[];
  work_due boolean;
BEGIN
  WITH changed AS (
    UPDATE deployments d SET state = end_state, reason = COALESCE(end_deployments.reason, d.reason),
      digest = COALESCE(d.digest, end_deployments.digest), ended_at = clock_timestamp()
    WHERE d.id = ANY(ids) AND d.ended_at IS NULL AND (from_states IS NULL OR d.state = ANY(from_states))
    RETURNING d.id),
  stopped AS (
    UPDATE work SET due_at = LEAST(due_at, now())
    WHERE kind = 'builds' AND record_id = ANY(ids) AND record_id IN (SELECT id FROM changed) AND work.state = 'pending'
    RETURNING 1)
  SELECT array_agg(id), EXISTS (SELECT FROM stopped) INTO ended, work_due FROM changed;
  IF ended IS NULL THEN
    RETURN '{}';
  END IF;
  -- Most installations have no target, and the statement below is expensive even if it finds none.
  IF EXISTS (SELECT FROM notification_targets WHERE enabled) THEN
    WITH notified AS (
      INSERT INTO notification_deliveries (id, target_id, deployment_id, type)
      SELECT gen_random_uuid(), target.id, deployments.id, 'deployment.' || end_state
      FROM deployments JOIN workloads ON workloads.id = deployments.workload_id
        JOIN notification_targets target ON target.project = workloads.project
      WHERE deployments.id = ANY(ended) AND target.enabled AND 'deployment.' || end_state = ANY(target.events)
        AND (target.apps IS NULL OR workloads.name = ANY(target.apps))
        AND (target.environments IS NULL OR workloads.environment = ANY(target.environments))
      RETURNING id),
    queued AS (
      INSERT INTO work (id, kind, record_id) SELECT gen_random_uuid(), 'notifications', id FROM notified)
    SELECT work_due OR EXISTS (SELECT FROM notified) INTO work_due;
  END IF;
  IF NOT quiet THEN
    PERFORM pg_notify('deployment_ends', id::text) FROM unnest(ended) AS id;
    IF work_due THEN
      PERFORM pg_notify('work', '');
    END IF;
  END IF;
  RETURN ended;
END $$;

-- Ends all active deployments of an app, and their rollouts. The caller holds the app's row. Returns the ids of the
-- deployments that it ended.
CREATE FUNCTION end_active_deployments(app uuid, end_state text, reason text)
RETURNS uuid[] LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET seq_page_cost = 100 AS $$
DECLARE
  ended uuid[] := end_deployments(
    ARRAY(SELECT id FROM deployments WHERE workload_id = app AND ended_at IS NULL), NULL, end_state, reason, NULL);
BEGIN
  UPDATE work SET state = 'done', done_at = now(), leased_until = NULL
  WHERE kind = 'rollouts' AND record_id = ANY(ended) AND state = 'pending';
  RETURN ended;
END $$;

-- The result of accept_deployment.
CREATE TYPE acceptance AS (
  id uuid,
  revision integer,
  state text,
  -- false when an earlier deployment was found by its key, or as the app's newest
  created boolean,
  -- the deployments that it superseded, for the caller to announce
  superseded uuid[]
);

-- Accepts a deployment, or records one that is skipped. runtime/records/acceptance.ts describes the arguments and calls it
-- by their names, so that an argument with a default can be added while two versions of the platform run.
-- It sends no NOTIFY: a transaction that does holds a lock for the whole server until its commit is durable. The caller
-- announces afterwards.
-- A refusal has the SQLSTATE SV000 and the code of the problem as its message.
CREATE FUNCTION accept_deployment(
  app uuid,
  deployment_id uuid,
  work_id uuid,
  queue text,
  trigger text,
  image text,
  digest text,
  commit text,
  commit_message text,
  commit_author text,
  branch text,
  actor text,
  rollback_of integer,
  restores text,
  automatic boolean,
  promoted_from_environment text,
  promoted_from_revision integer,
  reason text,
  dedup_key text,
  only_first boolean,
  skipped boolean,
  proof_version integer,
  proof_url_hash bytea)
RETURNS acceptance LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET seq_page_cost = 100 AS $$
DECLARE
  result acceptance;
  app_deleted_at timestamptz;
  newest record;
  next_revision integer;
  ended uuid[] := '{}';
  due timestamptz := now();
BEGIN
  -- Serialises the deployments of an app: only the holder of its row numbers and supersedes them.
  SELECT w.deleted_at INTO app_deleted_at FROM workloads w WHERE w.id = app AND w.kind = 'App' FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE 'not_ready' USING ERRCODE = 'SV000';
  ELSIF app_deleted_at IS NOT NULL THEN
    RAISE 'not_found' USING ERRCODE = 'SV000';
  END IF;

  -- Any change to what counts as proof also locks the app's row.
  IF (proof_version IS NOT NULL OR proof_url_hash IS NOT NULL) AND NOT EXISTS (
      SELECT FROM webhooks w WHERE w.workload_id = app AND w.enabled AND (w.version = proof_version
        OR (w.previous_version = proof_version AND w.previous_until > clock_timestamp())
        OR w.url_secret_hash = proof_url_hash)) THEN
    RAISE 'invalid_webhook_token' USING ERRCODE = 'SV000';
  END IF;

  IF accept_deployment.dedup_key IS NOT NULL THEN
    SELECT d.id, d.revision, d.state, false, '{}'::uuid[] INTO result FROM deployments d
    WHERE d.workload_id = app AND d.dedup_key = accept_deployment.dedup_key;
    IF FOUND THEN
      RETURN result;
    END IF;
  END IF;
  -- Only the greatest revision can be active, because every acceptance ends the one before.
  SELECT d.id, d.revision, d.state, d.ended_at INTO newest FROM deployments d
  WHERE d.workload_id = app AND d.revision IS NOT NULL ORDER BY d.revision DESC LIMIT 1;
  IF newest.id IS NOT NULL AND only_first THEN
    SELECT newest.id, newest.revision, newest.state, false, '{}'::uuid[] INTO result;
    RETURN result;
  END IF;
  next_revision := COALESCE(newest.revision, 0) + 1;

  IF NOT skipped AND newest.id IS NOT NULL AND newest.ended_at IS NULL THEN
    ended := end_deployments(ARRAY[newest.id], NULL, 'superseded', format('Superseded by revision %s.', next_revision), NULL, true);
    -- While deployments supersede one another, a rollout starts at most once a second (decision 0029). A rollout that has
    -- not started passes its time on to the new one; the due_at of one that a worker has just taken is 'infinity'.
    -- The condition is not `= 'pending'`, which would allow the index work_due: during a burst it contains thousands of
    -- entries of rows that are done, until they are vacuumed.
    WITH cancelled AS (
      UPDATE work SET state = 'done', done_at = now(), leased_until = NULL
      WHERE kind = 'rollouts' AND record_id = ANY(ended) AND work.state <> 'done'
      RETURNING record_id, due_at)
    SELECT GREATEST(due, max(COALESCE(d.started_at + interval '1 s', LEAST(due_at, now() + interval '1 s')))) INTO due
    FROM deployments d LEFT JOIN cancelled ON record_id = d.id WHERE d.id = ANY(ended);
  END IF;
  INSERT INTO deployments (id, workload_id, revision, trigger, state, image, digest, commit, commit_message, commit_author,
    branch, actor, rollback_of, restores, automatic, promoted_from_environment, promoted_from_revision, reason, dedup_key,
    accepted_at, ended_at)
  VALUES (deployment_id, app, CASE WHEN NOT skipped THEN next_revision END, trigger,
    CASE WHEN skipped THEN 'skipped' ELSE 'accepted' END, image, digest, commit, commit_message, commit_author, branch,
    actor, rollback_of, restores, automatic, promoted_from_environment, promoted_from_revision, reason, dedup_key,
    clock_timestamp(), CASE WHEN skipped THEN clock_timestamp() END)
  RETURNING deployments.id, deployments.revision, deployments.state, true, ended INTO result;
  IF NOT skipped THEN
    INSERT INTO work (id, kind, record_id, due_at) VALUES (work_id, queue, result.id, due);
  END IF;
  RETURN result;
END $$;
