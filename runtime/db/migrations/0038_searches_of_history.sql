-- Up Migration

-- Searches for what is rare read a table until they have a page of it: with 10 million rows, that is the whole table.

-- Lists of deployments, of an app and of all apps of a project, with filters. Everything that they read to find a page is in
-- one index: otherwise PostgreSQL, which does not know beforehand which app has many, reads and sorts all of an app.
DROP INDEX deployments_history;
CREATE INDEX deployments_history ON deployments (workload_id, accepted_at DESC, id DESC) INCLUDE (state, trigger);
-- Most deployments succeed and come from a webhook, and are in neither of these.
CREATE INDEX deployments_unsuccessful ON deployments (workload_id, state, accepted_at DESC, id DESC) INCLUDE (trigger)
  WHERE state IN ('failed', 'superseded', 'cancelled', 'skipped');
CREATE INDEX deployments_triggers ON deployments (workload_id, trigger, accepted_at DESC, id DESC) INCLUDE (state)
  WHERE trigger <> 'webhook';

-- Filters of audit entries. That of an action is a prefix, which needs the order of the characters' codes.
CREATE INDEX audit_entries_action ON audit_entries (action COLLATE "C", id);
CREATE INDEX audit_entries_object ON audit_entries (object, id) WHERE object IS NOT NULL;
CREATE INDEX audit_entries_project_name ON audit_entries (project, id) WHERE project IS NOT NULL;
CREATE INDEX audit_entries_environment ON audit_entries (environment, id) WHERE environment IS NOT NULL;
