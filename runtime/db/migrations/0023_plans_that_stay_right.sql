-- Up Migration

-- One plan does for all calls (migration 0019), and it is made when tables may have a page or two, of which a sequential scan
-- is the cheapest. Until statistics hear of it, a minute or more, a burst of webhooks grew them by thousands of rows that
-- every call read through: it took PostgreSQL half of its time. What cannot be found by an index looks so dear then that
-- it would be compiled first, which costs more than it. Whoever replaces one of the functions has to say so again.
ALTER FUNCTION accept_deployment(uuid, jsonb) SET enable_seqscan = off;
ALTER FUNCTION accept_deployment(uuid, jsonb) SET jit = off;
ALTER FUNCTION finish_deployments(uuid[], text[], text, text, text, boolean) SET enable_seqscan = off;
ALTER FUNCTION finish_deployments(uuid[], text[], text, text, text, boolean) SET jit = off;
ALTER FUNCTION end_active_deployments(uuid, text, text, boolean) SET enable_seqscan = off;
ALTER FUNCTION end_active_deployments(uuid, text, text, boolean) SET jit = off;
