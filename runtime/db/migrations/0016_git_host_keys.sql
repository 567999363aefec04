-- Up Migration

ALTER TABLE git_sources
  -- what was wrong at the last poll: a `GitProblem` of runtime/domain/git-source.ts; null when it went well
  ADD COLUMN problem text,
  -- over ssh: the server, and the public keys that it first showed and has to prove since; null before that
  ADD COLUMN server text,
  ADD COLUMN host_keys text[];
