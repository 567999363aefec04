-- Up Migration

-- The audit log (docs/reference/logs.md#audit), kept for 90 days. It refers to nothing, because its entries outlive
-- projects, users and tokens.
CREATE TABLE audit_entries (
  -- the order of the entries
  id uuid PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  action text NOT NULL,
  -- the email address of the user, also of the one for whom an access token acts; `svc` for the platform itself
  actor text NOT NULL,
  token_id uuid,
  token text,
  -- the identity of the project: the admins of a later project with the same name do not see the entry
  project_id uuid,
  project text,
  environment text,
  object_kind text,
  object text,
  request_id text,
  -- `json` and not `jsonb`, which refuses texts that are no Unicode: every text of a request can be stored
  details json NOT NULL
);

-- Lists the entries of a project, newest first.
CREATE INDEX audit_entries_project ON audit_entries (project_id, id) WHERE project_id IS NOT NULL;
-- Lists what a user did.
CREATE INDEX audit_entries_actor ON audit_entries (actor, id);
-- Deletes old ones.
CREATE INDEX audit_entries_at ON audit_entries (at);
