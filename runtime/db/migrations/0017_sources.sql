-- Up Migration

-- The content of uploaded folders in chunks of up to 1 MiB (decision 0050). A project only finds its own: the digest of another
-- project's chunk says nothing.
CREATE TABLE source_chunks (
  -- the project's label platform.svc/id
  project_id uuid NOT NULL,
  -- SHA-256 of the content
  digest bytea NOT NULL CHECK (length(digest) = 32),
  content bytea NOT NULL CHECK (length(content) <= 1048576),
  -- when an upload or a build last needed it, to the hour; old chunks are deleted
  used_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, digest)
);

-- Finds chunks to delete.
CREATE INDEX source_chunks_used_at ON source_chunks (used_at);

-- How many bytes each project stores. Its row is locked while chunks are added or deleted.
CREATE TABLE source_stores (
  project_id uuid PRIMARY KEY,
  bytes bigint NOT NULL CHECK (bytes >= 0)
);

-- The folder that a deployment is built from.
CREATE TABLE deployment_sources (
  deployment_id uuid PRIMARY KEY REFERENCES deployments ON DELETE CASCADE,
  project_id uuid NOT NULL,
  -- the files, as `SourceFile` of runtime/domain/source-files.ts
  files jsonb NOT NULL,
  dockerfile text,
  -- SHA-256 of the token with which the build fetches the files; null before the build starts and after it has fetched them
  token_digest bytea,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- Finds old rows.
CREATE INDEX deployment_sources_created_at ON deployment_sources (created_at);
-- Finds the lists of a project.
CREATE INDEX deployment_sources_project_id ON deployment_sources (project_id);
