-- Up Migration

-- Both functions as before, with statements that look each row up by one value. For `= ANY (…)`, a plan from a time when the
-- tables were small, which is kept, reads the index of all rollouts or of all active deployments: after 4,000 rollouts, an
-- acceptance took PostgreSQL 1.1 ms of processor time, and 0.3 ms without that.

CREATE OR REPLACE FUNCTION end_deployments(ids uuid[], from_states text[], end_state text, reason text, digest text,
  quiet boolean DEFAULT false)
RETURNS uuid[] LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET seq_page_cost = 100 AS $$
DECLARE
  ended uuid[];
  one uuid;
  work_due boolean := false;
BEGIN
  -- The condition is not `d.ended_at IS NULL`, which would allow the index of all active deployments.
  WITH changed AS (
    UPDATE deployments d SET state = end_state, reason = COALESCE(end_deployments.reason, d.reason),
      digest = COALESCE(d.digest, end_deployments.digest), ended_at = clock_timestamp()
    WHERE d.id = ANY(ids) AND COALESCE(d.ended_at, 'infinity') = 'infinity'
      AND (from_states IS NULL OR d.state = ANY(from_states))
    RETURNING d.id)
  SELECT array_agg(id) INTO ended FROM changed;
  IF ended IS NULL THEN
    RETURN '{}';
  END IF;
  FOREACH one IN ARRAY ended LOOP
    UPDATE work SET due_at = LEAST(due_at, now())
    WHERE kind = 'builds' AND record_id = one AND COALESCE(work.state, '') = 'pending';
    work_due := work_due OR FOUND;
  END LOOP;
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

CREATE OR REPLACE FUNCTION accept_deployment(
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
  stored_id uuid;
  stored_state text;
  image_name text := split_part(accept_deployment.image, '@', 1);
  wanted text := COALESCE(NULLIF(split_part(accept_deployment.image, '@', 2), ''), accept_deployment.digest);
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

  -- The lock lasts until the commit, so that the image is not deleted before the deployment is seen to need it. Images that
  -- no build made are in none of these tables.
  IF NOT skipped AND image_name <> '' THEN
    IF wanted IS NOT NULL THEN
      SELECT i.id, i.state INTO stored_id, stored_state FROM images i
      WHERE i.repository = regexp_replace(image_name, ':[^/:]*$', '') AND i.digest = wanted FOR KEY SHARE;
    END IF;
    IF stored_id IS NULL THEN
      SELECT i.id, i.state INTO stored_id, stored_state FROM image_tags t JOIN images i ON i.id = t.image_id
      WHERE t.name = image_name FOR KEY SHARE OF i;
    END IF;
    IF stored_state = 'deleting' THEN
      RAISE 'image_being_deleted' USING ERRCODE = 'SV000';
    ELSIF stored_state = 'deleted' THEN
      RAISE 'image_deleted' USING ERRCODE = 'SV000';
    END IF;
  END IF;

  IF NOT skipped AND newest.id IS NOT NULL AND newest.ended_at IS NULL THEN
    ended := end_deployments(ARRAY[newest.id], NULL, 'superseded', format('Superseded by revision %s.', next_revision), NULL, true);
    -- While deployments supersede one another, a rollout starts at most once a second (decision 0029). A rollout that has
    -- not started passes its time on to the new one; the due_at of one that a worker has just taken is 'infinity'.
    -- The condition is not `= 'pending'`, which would allow the index work_due: during a burst it contains thousands of
    -- entries of rows that are done, until they are vacuumed.
    IF cardinality(ended) > 0 THEN
      WITH cancelled AS (
        UPDATE work SET state = 'done', done_at = now(), leased_until = NULL
        WHERE kind = 'rollouts' AND record_id = newest.id AND work.state <> 'done'
        RETURNING due_at)
      SELECT GREATEST(due, COALESCE(d.started_at + interval '1 s', LEAST(due_at, now() + interval '1 s'))) INTO due
      FROM deployments d LEFT JOIN cancelled ON true WHERE d.id = newest.id;
    END IF;
  END IF;
  INSERT INTO deployments (id, workload_id, revision, trigger, state, image, digest, commit, commit_message, commit_author,
    branch, actor, rollback_of, restores, automatic, promoted_from_environment, promoted_from_revision, reason, dedup_key,
    image_id, accepted_at, ended_at)
  VALUES (deployment_id, app, CASE WHEN NOT skipped THEN next_revision END, trigger,
    CASE WHEN skipped THEN 'skipped' ELSE 'accepted' END, image, digest, commit, commit_message, commit_author, branch,
    actor, rollback_of, restores, automatic, promoted_from_environment, promoted_from_revision, reason, dedup_key,
    stored_id, clock_timestamp(), CASE WHEN skipped THEN clock_timestamp() END)
  RETURNING deployments.id, deployments.revision, deployments.state, true, ended INTO result;
  IF NOT skipped THEN
    INSERT INTO work (id, kind, record_id, due_at) VALUES (work_id, queue, result.id, due);
  END IF;
  RETURN result;
END $$;
