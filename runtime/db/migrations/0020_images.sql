-- Up Migration

-- The images that builds pushed, one for each manifest of a repository (decision 0053). A row outlives its environment, whose
-- images are deleted after it, and it stays when its image is deleted, so that the history tells.
CREATE TABLE images (
  id uuid PRIMARY KEY,
  -- where it was built last; not a reference, because the records of an environment are deleted with it
  environment_id uuid NOT NULL,
  project text NOT NULL,
  namespace text NOT NULL,
  app text NOT NULL,
  -- the name without the tag, as nodes pull it
  repository text NOT NULL,
  digest text NOT NULL,
  -- as the build measured it; null for a build of an older version
  size_bytes bigint CHECK (size_bytes >= 0),
  -- deleting: nothing new may use it, and a worker deletes it from the registry
  state text NOT NULL DEFAULT 'stored' CHECK (state IN ('stored', 'deleting', 'deleted')),
  built_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz,
  -- when somebody asked for the deletion, and who; null once it is carried out or refused, and for the clean-up
  requested_at timestamptz,
  requested_by text,
  -- why the last attempt to delete it failed: a stable code, and a message for people
  problem text,
  message text,
  -- when the clean-up may try again after a failure
  retry_at timestamptz,
  UNIQUE (repository, digest)
);

-- Lists the images of an environment, newest first, and those of an app.
CREATE INDEX images_environment ON images (environment_id, built_at DESC, id DESC) WHERE state <> 'deleted';
-- Finds an image by its digest.
CREATE INDEX images_digest ON images (digest);
-- Finds what a build of an app has to wait for.
CREATE INDEX images_deleting ON images (namespace, app) WHERE state = 'deleting';
-- The clean-up reads the stored images in this order.
CREATE INDEX images_stored ON images (id) WHERE state = 'stored';

-- The tags of images, by their full names. Builds of the same content push the same image with different tags.
CREATE TABLE image_tags (
  name text PRIMARY KEY,
  image_id uuid NOT NULL REFERENCES images ON DELETE CASCADE,
  built_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX image_tags_image ON image_tags (image_id, built_at DESC);

-- The image that a deployment runs, if a build made it. Other deployments are in none of these indexes.
ALTER TABLE deployments ADD COLUMN image_id uuid REFERENCES images;
CREATE INDEX deployments_image ON deployments (image_id, revision DESC) WHERE image_id IS NOT NULL;
-- The rollback history of an app.
CREATE INDEX deployments_image_history ON deployments (workload_id, revision DESC) INCLUDE (image_id)
  WHERE image_id IS NOT NULL AND state = 'succeeded';

-- Images of earlier builds: their names are those of the repository of their app.
INSERT INTO images (id, environment_id, project, namespace, app, repository, digest, built_at)
SELECT DISTINCT ON (regexp_replace(d.image, ':[^/:]*$', ''), d.digest) gen_random_uuid(), w.environment_id, w.project,
  w.namespace, w.name, regexp_replace(d.image, ':[^/:]*$', ''), d.digest, d.built_at
FROM deployments d JOIN workloads w ON w.id = d.workload_id
WHERE d.built_at IS NOT NULL AND d.digest IS NOT NULL AND d.image <> ''
  AND regexp_replace(d.image, ':[^/:]*$', '') LIKE '%/' || w.namespace || '/' || w.name
ORDER BY regexp_replace(d.image, ':[^/:]*$', ''), d.digest, d.built_at DESC;
INSERT INTO image_tags (name, image_id, built_at)
SELECT DISTINCT ON (d.image) d.image, i.id, d.built_at FROM deployments d
  JOIN images i ON i.repository = regexp_replace(d.image, ':[^/:]*$', '') AND i.digest = d.digest
WHERE d.built_at IS NOT NULL ORDER BY d.image, d.built_at DESC;
UPDATE deployments d SET image_id = i.id FROM image_tags t JOIN images i ON i.id = t.image_id
WHERE t.name = d.image AND i.digest = d.digest;

-- Accepts a deployment, as migration 0009 describes it, of an image that is stored. New: `image_being_deleted` and
-- `image_deleted`, and the reference to the image.
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
    WITH cancelled AS (
      UPDATE work SET state = 'done', done_at = now(), leased_until = NULL
      WHERE kind = 'rollouts' AND record_id = ANY(ended) AND work.state <> 'done'
      RETURNING record_id, due_at)
    SELECT GREATEST(due, max(COALESCE(d.started_at + interval '1 s', LEAST(due_at, now() + interval '1 s')))) INTO due
    FROM deployments d LEFT JOIN cancelled ON record_id = d.id WHERE d.id = ANY(ended);
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
