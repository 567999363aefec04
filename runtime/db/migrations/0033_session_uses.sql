-- Up Migration

-- What a user sees of the own sessions, to find one that another person uses. Null for sessions of older versions.
ALTER TABLE sessions
  -- written at most once a minute
  ADD COLUMN last_used_at timestamptz,
  -- the browser and operating system that signed in, or the command line; see runtime/domain/client-name.ts
  ADD COLUMN client text;
