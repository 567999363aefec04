-- Up Migration

-- Accounts that can sign in.
CREATE TABLE users (
  id uuid PRIMARY KEY,
  email text NOT NULL UNIQUE,
  -- scrypt, in the PHC string format
  password_hash text NOT NULL,
  role text NOT NULL CHECK (role IN ('admin', 'member')),
  created_at timestamptz NOT NULL DEFAULT now(),
  -- a disabled user cannot sign in
  disabled_at timestamptz,
  -- Set for a password that an admin created: it expires at this time, and the user must replace it after signing in.
  one_time_until timestamptz
);

CREATE TABLE sessions (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  -- SHA-256 of the bearer token; the token itself is returned once and not stored
  token_digest bytea NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);

-- Signs a user out everywhere, and serves the foreign key.
CREATE INDEX sessions_user_id ON sessions (user_id);
-- Finds expired sessions.
CREATE INDEX sessions_expires_at ON sessions (expires_at);

-- The role of a user in a project. The project is identified by its label platform.svc/id, so that a project that is
-- recreated with an old name has no members.
CREATE TABLE project_members (
  project_id uuid NOT NULL,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  role text NOT NULL CHECK (role IN ('viewer', 'deployer', 'admin')),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, user_id)
);

-- Lists a user's projects, and serves the foreign key.
CREATE INDEX project_members_user_id ON project_members (user_id);

-- Who created a project, whatever roles the project's members have later: the number of a user's projects is limited.
CREATE TABLE project_founders (
  project_id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- Counts a user's projects, and serves the foreign key.
CREATE INDEX project_founders_user_id ON project_founders (user_id);

-- Roles of addresses without an account. The account gets the role when it is created.
CREATE TABLE project_invitations (
  project_id uuid NOT NULL,
  email text NOT NULL,
  role text NOT NULL CHECK (role IN ('viewer', 'deployer', 'admin')),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, email)
);

-- Finds the roles of a new account.
CREATE INDEX project_invitations_email ON project_invitations (email);

-- Counters that limit sign-in attempts, and the clients that have signed in before. Keys are digests, because people type
-- passwords into the email field.
CREATE TABLE login_attempts (
  key bytea PRIMARY KEY,
  attempts integer NOT NULL,
  ends_at timestamptz NOT NULL
);

-- Finds expired counters.
CREATE INDEX login_attempts_ends_at ON login_attempts (ends_at);
