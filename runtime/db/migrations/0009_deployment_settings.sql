-- Up Migration

ALTER TABLE deployments
  -- The app's settings when the release was applied (variables, port, limits, …; no secret): what a rollback can bring back.
  ADD COLUMN settings jsonb,
  -- The immutable Secret with the environment that its pods got; the values themselves stay in the cluster.
  ADD COLUMN env_secret text,
  -- What a rollback brings back beside the image: the environment of the pods, or that and the settings.
  ADD COLUMN restores text CHECK (restores IN ('environment', 'config')),
  -- Made by the platform because another deployment failed or was cancelled.
  ADD COLUMN automatic boolean NOT NULL DEFAULT false,
  -- Of one that failed or was cancelled: the revision to which the app went back because of that.
  ADD COLUMN rolled_back_to integer;
