-- Up Migration

-- A lease, its renewal and its end change `due_at` only, beside columns that no index has. Without that column in an index,
-- and with room left on the page, PostgreSQL writes such an update into the table alone.
DROP INDEX function_events_delivered;
CREATE INDEX function_events_delivered ON function_events (workload_id, id) WHERE state = 'delivered';
ALTER TABLE function_events SET (fillfactor = 70);
