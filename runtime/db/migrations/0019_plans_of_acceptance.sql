-- Up Migration

-- Left to itself, PostgreSQL plans statements about `= ANY (…)` anew at every call, since it takes ten ids for granted where
-- there are one or none; that took a third of what an acceptance costs it. These find everything by a key, so that one
-- plan does for all. Whoever replaces one of the functions has to say so again.
ALTER FUNCTION accept_deployment(uuid, jsonb) SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION end_deployments(uuid[], text[], text, text, text, boolean) SET plan_cache_mode = force_generic_plan;
