-- Up Migration

-- Who created a project, whatever roles the project's members have later: the number of a user's projects is limited.
CREATE TABLE project_founders (
  project_id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- Counts a user's projects, and serves the foreign key.
CREATE INDEX project_founders_user_id ON project_founders (user_id);

-- The first admin of a project is its founder.
INSERT INTO project_founders (project_id, user_id, created_at)
  SELECT DISTINCT ON (project_id) project_id, user_id, created_at FROM project_members
  WHERE role = 'admin' ORDER BY project_id, created_at, user_id;

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
