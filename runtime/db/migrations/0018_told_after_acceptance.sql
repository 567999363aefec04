-- Up Migration

-- A transaction that notifies holds one lock for all of PostgreSQL from before its commit until that is durable: those
-- that do so commit one after the other. Accepting a deployment therefore tells nobody; who calls it does, afterwards
-- (decision 0015).

DROP TRIGGER deployments_end ON deployments;
DROP FUNCTION tell_deployment_end();
DROP FUNCTION end_active_deployments(uuid, text, text);
DROP FUNCTION end_deployments(uuid[], text[], text, text, text);

-- As in migration 0013, and now also what tells those who wait for an end. `quiet`: the caller tells them, and whoever
-- hands out work.
CREATE FUNCTION end_deployments(asked uuid[], from_states text[], new_state text, why text, known_digest text,
  quiet boolean DEFAULT false)
RETURNS SETOF uuid LANGUAGE plpgsql AS $$
DECLARE
  ended uuid[];
  due boolean;
BEGIN
  WITH done AS (
    UPDATE deployments SET state = new_state, reason = COALESCE(why, reason), digest = COALESCE(digest, known_digest),
      ended_at = clock_timestamp()
    WHERE id = ANY(asked) AND ended_at IS NULL AND (from_states IS NULL OR state = ANY(from_states))
    RETURNING id)
  SELECT array_agg(id) INTO ended FROM done;
  IF ended IS NULL THEN
    RETURN;
  END IF;
  WITH notified AS (
    INSERT INTO notification_deliveries (id, target_id, deployment_id, type)
    SELECT gen_random_uuid(), target.id, deployments.id, 'deployment.' || new_state
    FROM deployments JOIN workloads ON workloads.id = deployments.workload_id
      JOIN notification_targets target ON target.project = workloads.project
    WHERE deployments.id = ANY(ended) AND target.enabled AND 'deployment.' || new_state = ANY(target.events)
      AND (target.apps IS NULL OR workloads.name = ANY(target.apps))
      AND (target.environments IS NULL OR workloads.environment = ANY(target.environments))
    RETURNING id),
  queued AS (
    INSERT INTO work (id, kind, record_id) SELECT gen_random_uuid(), 'notifications', id FROM notified),
  stopped AS (
    UPDATE work SET due_at = LEAST(due_at, now())
    WHERE kind = 'builds' AND record_id = ANY(ended) AND state = 'pending' RETURNING 1)
  SELECT EXISTS (SELECT FROM notified) OR EXISTS (SELECT FROM stopped) INTO due;
  IF NOT quiet THEN
    PERFORM pg_notify('deployment_ends', id::text) FROM unnest(ended) AS id;
    IF due THEN
      PERFORM pg_notify('work', '');
    END IF;
  END IF;
  RETURN QUERY SELECT unnest(ended);
END $$;

-- As in migration 0013; `quiet` as above.
CREATE FUNCTION end_active_deployments(app uuid, new_state text, why text, quiet boolean DEFAULT false)
RETURNS SETOF uuid LANGUAGE plpgsql AS $$
DECLARE
  active uuid[] := ARRAY(SELECT id FROM deployments WHERE workload_id = app AND ended_at IS NULL);
  ended uuid[];
BEGIN
  -- Most have none, and what follows costs more than all the rest of an acceptance.
  IF active = '{}' THEN
    RETURN;
  END IF;
  ended := ARRAY(SELECT end_deployments(active, NULL, new_state, why, NULL, quiet));
  UPDATE work SET state = 'done', done_at = now(), leased_until = NULL
  WHERE kind = 'rollouts' AND record_id = ANY(ended) AND state = 'pending';
  RETURN QUERY SELECT unnest(ended);
END $$;

-- Those that it ended, for the caller to tell.
ALTER TYPE acceptance ADD ATTRIBUTE superseded uuid[];

-- As in migration 0013, but for who tells.
CREATE OR REPLACE FUNCTION accept_deployment(app uuid, request jsonb) RETURNS acceptance LANGUAGE plpgsql AS $$
DECLARE
  locked workloads;
  accepted acceptance;
  ended uuid[] := '{}';
  skipped boolean := request @> '{"skipped": true}';
  first boolean := request @> '{"onlyFirst": true}';
BEGIN
  -- Serialises an app's deployments: whoever holds its row is the only one to number and supersede.
  SELECT * INTO locked FROM workloads WHERE id = app AND kind = 'App' FOR NO KEY UPDATE;
  IF locked.id IS NULL THEN
    RAISE 'not_ready' USING ERRCODE = 'SV000';
  ELSIF locked.deleted_at IS NOT NULL THEN
    RAISE 'not_found' USING ERRCODE = 'SV000';
  END IF;

  -- Whoever changes what counts takes the app's row, too.
  IF request ? 'proof' AND NOT EXISTS (
    SELECT FROM webhooks, jsonb_to_record(request->'proof') AS proof (version integer, url text)
    WHERE workload_id = app AND enabled AND (webhooks.version = proof.version
      OR (previous_version = proof.version AND previous_until > clock_timestamp())
      OR url_secret_hash = decode(proof.url, 'hex')))
  THEN
    RAISE 'invalid_webhook_token' USING ERRCODE = 'SV000';
  END IF;

  IF first OR request ? 'dedupKey' THEN
    SELECT id, revision, state, false, '{}'::uuid[] INTO accepted FROM deployments
    WHERE workload_id = app AND (dedup_key = request->>'dedupKey' OR (first AND revision IS NOT NULL))
    ORDER BY dedup_key IS NOT DISTINCT FROM request->>'dedupKey' DESC, revision DESC LIMIT 1;
    IF FOUND THEN
      RETURN accepted;
    END IF;
  END IF;

  IF NOT skipped THEN
    ended := ARRAY(SELECT end_active_deployments(app, 'superseded',
      format('Superseded by revision %s.', locked.next_revision), true));
    UPDATE workloads SET next_revision = next_revision + 1 WHERE id = app;
  END IF;
  INSERT INTO deployments (id, workload_id, revision, trigger, state, image, digest, commit, commit_message, commit_author,
    branch, actor, rollback_of, restores, automatic, promoted_from_environment, promoted_from_revision, reason, dedup_key,
    accepted_at, ended_at)
  SELECT given.id, app, CASE WHEN NOT skipped THEN locked.next_revision END, given.trigger,
    CASE WHEN skipped THEN 'skipped' ELSE 'accepted' END, COALESCE(given.image, ''), given.digest, given.commit,
    given."commitMessage", given."commitAuthor", given.branch, given.actor, given."rollbackOf", given.restores,
    COALESCE(given.automatic, false), given."promotedFrom"->>'environment', (given."promotedFrom"->>'revision')::integer,
    given.reason, given."dedupKey", clock_timestamp(), CASE WHEN skipped THEN clock_timestamp() END
  FROM jsonb_to_record(request) AS given (id uuid, trigger text, image text, digest text, commit text,
    "commitMessage" text, "commitAuthor" text, branch text, actor text, "rollbackOf" integer, restores text,
    automatic boolean, "promotedFrom" jsonb, reason text, "dedupKey" text)
  RETURNING id, revision, state, true, ended INTO accepted;
  IF NOT skipped THEN
    INSERT INTO work (id, kind, record_id) VALUES ((request->>'workId')::uuid, request->>'queue', accepted.id);
  END IF;
  RETURN accepted;
END $$;
