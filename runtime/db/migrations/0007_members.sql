-- Up Migration

ALTER TABLE users
  -- Signs in no longer, until it is empty again
  ADD COLUMN disabled_at timestamptz,
  -- Set: the password was made by an admin, signs in until then, and has to be replaced by the person
  ADD COLUMN one_time_until timestamptz;

-- What a person may do in one project. By the project's identity (label platform.svc/id): one that is created anew under
-- an old name inherits nobody.
CREATE TABLE project_members (
  project_id uuid NOT NULL,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  role text NOT NULL CHECK (role IN ('viewer', 'deployer', 'admin')),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, user_id)
);

CREATE INDEX project_members_user_id ON project_members (user_id);

-- Counts of login attempts, and the clients from which somebody has signed in. Digests only: people type passwords into
-- the field of the address.
CREATE TABLE login_attempts (
  key bytea PRIMARY KEY,
  taken integer NOT NULL,
  ends_at timestamptz NOT NULL
);

CREATE INDEX login_attempts_ends_at ON login_attempts (ends_at);
