-- Up Migration

-- What an acceptance costs PostgreSQL is what limits how many a second are durable. This does the same as migrations 0018
-- and 0019 in fewer statements: about half the processor time.

-- An app's next revision is the one after its greatest; nothing is counted in its row, which would call the feed of the
-- gate for nothing at every deployment.
ALTER TABLE workloads DROP COLUMN next_revision;

-- As `end_deployments`, which is made of it. A function that returns a set costs its caller as much as what it does.
CREATE FUNCTION finish_deployments(asked uuid[], from_states text[], new_state text, why text, known_digest text,
  quiet boolean)
RETURNS uuid[] LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  ended uuid[];
  due boolean;
BEGIN
  WITH done AS (
    UPDATE deployments SET state = new_state, reason = COALESCE(why, reason), digest = COALESCE(digest, known_digest),
      ended_at = clock_timestamp()
    WHERE id = ANY(asked) AND ended_at IS NULL AND (from_states IS NULL OR state = ANY(from_states))
    RETURNING id),
  stopped AS (
    UPDATE work SET due_at = LEAST(due_at, now())
    WHERE kind = 'builds' AND record_id = ANY(asked) AND record_id IN (SELECT id FROM done) AND work.state = 'pending'
    RETURNING 1)
  SELECT array_agg(id), EXISTS (SELECT FROM stopped) INTO ended, due FROM done;
  IF ended IS NULL THEN
    RETURN '{}';
  END IF;
  -- Most installations have no target, and the statement below costs the more, the less it finds.
  IF EXISTS (SELECT FROM notification_targets WHERE enabled) THEN
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
      INSERT INTO work (id, kind, record_id) SELECT gen_random_uuid(), 'notifications', id FROM notified)
    SELECT due OR EXISTS (SELECT FROM notified) INTO due;
  END IF;
  IF NOT quiet THEN
    PERFORM pg_notify('deployment_ends', id::text) FROM unnest(ended) AS id;
    IF due THEN
      PERFORM pg_notify('work', '');
    END IF;
  END IF;
  RETURN ended;
END $$;

CREATE OR REPLACE FUNCTION end_deployments(asked uuid[], from_states text[], new_state text, why text, known_digest text,
  quiet boolean DEFAULT false)
RETURNS SETOF uuid LANGUAGE sql AS $$
  SELECT unnest(finish_deployments(asked, from_states, new_state, why, known_digest, quiet))
$$;

-- As in migration 0018.
CREATE OR REPLACE FUNCTION end_active_deployments(app uuid, new_state text, why text, quiet boolean DEFAULT false)
RETURNS SETOF uuid LANGUAGE plpgsql AS $$
DECLARE
  ended uuid[] := finish_deployments(
    ARRAY(SELECT id FROM deployments WHERE workload_id = app AND ended_at IS NULL), NULL, new_state, why, NULL, quiet);
BEGIN
  UPDATE work SET state = 'done', done_at = now(), leased_until = NULL
  WHERE kind = 'rollouts' AND record_id = ANY(ended) AND state = 'pending';
  RETURN QUERY SELECT unnest(ended);
END $$;

-- As in migration 0018, but for when the work is due: while an app's deployments supersede one another, a rollout begins
-- once a second at most, since the one before would only be thrown away.
CREATE OR REPLACE FUNCTION accept_deployment(app uuid, request jsonb) RETURNS acceptance
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  accepted acceptance;
  deleted timestamptz;
  proven boolean;
  next integer;
  active uuid[];
  ended uuid[] := '{}';
  due timestamptz := now();
  skipped boolean := request @> '{"skipped": true}';
  first boolean := request @> '{"onlyFirst": true}';
BEGIN
  -- Serialises an app's deployments: whoever holds its row is the only one to number and supersede.
  SELECT deleted_at INTO deleted FROM workloads WHERE id = app AND kind = 'App' FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE 'not_ready' USING ERRCODE = 'SV000';
  ELSIF deleted IS NOT NULL THEN
    RAISE 'not_found' USING ERRCODE = 'SV000';
  END IF;

  -- Whoever changes what counts as a proof takes the app's row, too.
  SELECT NOT request ? 'proof' OR EXISTS (
      SELECT FROM webhooks WHERE workload_id = app AND enabled AND (version = (request->'proof'->>'version')::integer
        OR (previous_version = (request->'proof'->>'version')::integer AND previous_until > clock_timestamp())
        OR url_secret_hash = decode(request->'proof'->>'url', 'hex'))),
    COALESCE((SELECT max(revision) FROM deployments WHERE workload_id = app), 0) + 1,
    ARRAY(SELECT id FROM deployments WHERE workload_id = app AND ended_at IS NULL)
  INTO proven, next, active;
  IF NOT proven THEN
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

  IF NOT skipped AND active <> '{}' THEN
    ended := finish_deployments(active, NULL, 'superseded', format('Superseded by revision %s.', next), NULL, true);
    WITH undone AS (
      UPDATE work SET state = 'done', done_at = now(), leased_until = NULL
      WHERE kind = 'rollouts' AND record_id = ANY(ended) AND state = 'pending'
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
