-- Up Migration

-- Tokens with which programs call the management API. A token acts for the user who created it, in one project.
CREATE TABLE access_tokens (
  id uuid PRIMARY KEY,
  -- The project's and the environment's identity, so that recreated ones accept no old token.
  project_id uuid NOT NULL,
  project text NOT NULL,
  -- null: every environment of the project
  environment_id uuid,
  environment text,
  name text NOT NULL,
  -- the public part of the token
  handle text NOT NULL UNIQUE,
  -- SHA-256 of the token; the token itself is returned once and not stored
  digest bytea NOT NULL,
  scopes text[] NOT NULL,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  -- written at most once a minute
  last_used_at timestamptz,
  UNIQUE (project_id, name)
);

-- Counts a user's tokens, and serves the foreign key.
CREATE INDEX access_tokens_user_id ON access_tokens (user_id);
-- Deletes the tokens of an environment.
CREATE INDEX access_tokens_environment_id ON access_tokens (environment_id) WHERE environment_id IS NOT NULL;
