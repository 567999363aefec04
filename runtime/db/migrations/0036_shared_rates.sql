-- Up Migration

-- Whether the process shares rate limits with the other replicas, or is the only one; null before its first report.
ALTER TABLE gate_replicas ADD COLUMN shares_rates boolean;
