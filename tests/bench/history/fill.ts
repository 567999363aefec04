import type { Pool } from 'pg';
import { foldedIncarnation } from '../../../runtime/records/gate-replicas.ts';
import { newId, type Id } from '../../../runtime/domain/ids.ts';

/** Apps of the large project, which has half of all rows, in `prod` and `staging`. */
const largeApps = 10;
/** Apps of all other projects, ten of each. */
const smallApps = 990;
const users = 1_000;
/** How old the oldest rows are, in days: half of those with a retention are beyond it. */
const days = { deployments: 365, webhook_deliveries: 60, audit_entries: 180, usage: 184 };
/** One row in this many has what searches for rare things look for. */
const rareEvery = 100_000;

/** What the queries of the bench ask for. */
export interface HistorySubjects {
  /** The project with half of all rows, and the environment that is deleted. */
  large: { project: string; projectId: Id; environmentId: Id; appIds: Id[] };
  small: { project: string; projectId: Id; appIds: Id[] };
  keyIds: Id[];
}

/** SQL for an id with the time of a row, as `newId` makes them: in the order of the rows. @param at a timestamptz */
const idAt = (at: string, row: string) =>
  `(lpad(to_hex((extract(epoch FROM ${at}) * 1000)::bigint), 12, '0') || '7' || substr(md5(${row}::text), 1, 3) || '8' ||
    substr(md5(${row}::text), 4, 15))::uuid`;

/** Fills the four tables with this many rows each. */
export async function fillHistory(pool: Pool, rows: number, say: (line: string) => void): Promise<HistorySubjects> {
  const projects = Array.from({ length: 1 + smallApps / 10 }, (_, index) => ({
    name: `project${index}`,
    id: newId(),
    environments: [
      { name: 'prod', id: newId() },
      { name: 'staging', id: newId() },
    ] as const,
  }));
  const apps = Array.from({ length: largeApps + smallApps }, (_, index) => {
    const project = projects[index < largeApps ? 0 : 1 + Math.floor((index - largeApps) / 10)];
    if (!project) throw new Error(`the app ${index} has no project`);
    return { id: newId(), project, environment: project.environments[index % 2 === 0 ? 0 : 1], name: `app${index}` };
  });
  await pool.query(
    `INSERT INTO workloads (id, kind, environment_id, project, environment, namespace, name)
     SELECT id, 'App', environment_id, project, environment, project || '-' || environment, name
     FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[]) AS app (id, environment_id, project, environment, name)`,
    [
      apps.map(({ id }) => id),
      apps.map(({ environment }) => environment.id),
      apps.map(({ project }) => project.name),
      apps.map(({ environment }) => environment.name),
      apps.map(({ name }) => name),
    ],
  );
  const [largeProject, smallProject] = projects;
  if (!largeProject || !smallProject) throw new Error('there are too few projects');
  const keyIds = await insertKeys(pool, Math.ceil(rows / days.usage), largeProject.environments[0].id);

  /** Half of the rows belong to apps of the large project, in turn, and the others to all others. */
  const app = `CASE WHEN row % 2 = 0 THEN row / 2 % ${largeApps} ELSE ${largeApps} + row / 2 % ${smallApps} END`;
  const at = (table: keyof typeof days) => `now() - ${days[table]} * (1 - row::float8 / ${rows}) * interval '1 day'`;
  const rarely = (value: string, otherwise: string) =>
    `CASE WHEN row % ${rareEvery} < 2 THEN ${value} ELSE ${otherwise} END`;
  const appIds = apps.map(({ id }) => id);
  const source = `generate_series(1, ${rows}) AS row`;
  await load(
    pool,
    'deployments',
    `INSERT INTO deployments (id, workload_id, revision, trigger, state, image, digest, commit, commit_message, branch, actor,
       accepted_at, started_at, ended_at)
     SELECT ${idAt('at', 'row')}, ($1::uuid[])[1 + app],
       CASE WHEN app < ${largeApps} THEN row / 2 / ${largeApps} ELSE row / 2 / ${smallApps} END + 1,
       ${rarely("'promotion'", "'webhook'")},
       ${rarely("'cancelled'", "CASE WHEN row % 20 < 2 THEN 'failed' ELSE 'succeeded' END")},
       'registry.example.com/shop/app:' || row, 'sha256:' || repeat(md5(row::text), 2), md5(row::text), 'Change ' || row,
       'main', 'user' || row % ${users} || '@example.com', at, at, at + interval '20 seconds'
     FROM (SELECT row, ${app} AS app, ${at('deployments')} AS at FROM ${source}) AS made`,
    [appIds],
  );
  say('deployments');
  await load(
    pool,
    'webhook_deliveries',
    `INSERT INTO webhook_deliveries (id, workload_id, received_at, sender, event, delivery_id, verdict, status, webhook_event,
       body, body_bytes)
     SELECT ${idAt('at', 'row')}, ($1::uuid[])[1 + app], at, 'github', 'push', md5(row::text), 'ignored', 200,
       '{"branch":"main"}', repeat(md5(row::text), 8), 256
     FROM (SELECT row, ${app} AS app, ${at('webhook_deliveries')} AS at FROM ${source}) AS made`,
    [appIds],
  );
  say('webhook_deliveries');
  await load(
    pool,
    'audit_entries',
    `INSERT INTO audit_entries (id, at, action, actor, project_id, project, environment, object_kind, object, request_id, details)
     SELECT ${idAt('at', 'row')}, at, ${rarely("'secret.reveal'", '($4::text[])[1 + row % 5]')},
       ${rarely("'rare@example.com'", `'user' || row % ${users} || '@example.com'`)},
       ($1::uuid[])[1 + app], ($2::text[])[1 + app], ${rarely("'rare'", '($3::text[])[1 + app]')},
       'app', ${rarely("'rare'", "'app' || app")}, md5(row::text), '{"settings":["port"]}'
     FROM (SELECT row, ${app} AS app, ${at('audit_entries')} AS at FROM ${source}) AS made`,
    [
      apps.map(({ project }) => project.id),
      apps.map(({ project }) => project.name),
      apps.map(({ environment }) => environment.name),
      ['app.update', 'app.deploy', 'variable.set', 'secret.set', 'function.update'],
    ],
  );
  say('audit_entries');
  await load(
    pool,
    'usage',
    `INSERT INTO usage (key_id, day, incarnation, allowed, rate_denied, quota_denied, version)
     SELECT key, (now() AT TIME ZONE 'UTC')::date - day, $2::uuid, 1000, 10, 1, 1
     FROM generate_series(0, ${days.usage - 1}) AS day, unnest($1::uuid[]) AS key LIMIT ${rows}`,
    [keyIds, foldedIncarnation],
  );
  say('usage');
  for (const table of Object.keys(days)) await pool.query(`VACUUM ANALYZE ${table}`);

  const appIdsOf = (project: { id: Id }) => apps.filter((each) => each.project.id === project.id).map(({ id }) => id);
  return {
    large: {
      project: largeProject.name,
      projectId: largeProject.id,
      environmentId: largeProject.environments[0].id,
      appIds: appIdsOf(largeProject),
    },
    small: { project: smallProject.name, projectId: smallProject.id, appIds: appIdsOf(smallProject) },
    keyIds,
  };
}

async function insertKeys(pool: Pool, count: number, environmentId: Id): Promise<Id[]> {
  const planId = newId();
  await pool.query(
    `INSERT INTO plans (id, environment_id, name, requests_per_second, burst) VALUES ($1, $2, 'bench', 100, 100)`,
    [planId, environmentId],
  );
  const ids = Array.from({ length: count }, () => newId());
  await pool.query(
    `INSERT INTO api_keys (id, environment_id, handle, digest, plan_id, created_by)
     SELECT id, $2, lpad(number::text, 8, '0'), sha256(id::text::bytea), $3, 'bench@example.com'
     FROM unnest($1::uuid[]) WITH ORDINALITY AS key (id, number)`,
    [ids, environmentId, planId],
  );
  return ids;
}

/** Inserts rows without the checks of references, and makes the table's indexes afterwards, which is faster. */
async function load(pool: Pool, table: string, text: string, values: unknown[]): Promise<void> {
  const { rows: indexes } = await pool.query<{ name: string; definition: string }>(
    `SELECT indexname AS name, indexdef AS definition FROM pg_indexes WHERE schemaname = 'public' AND tablename = $1
       AND NOT EXISTS (SELECT FROM pg_constraint WHERE conname = indexname)`,
    [table],
  );
  for (const { name } of indexes) await pool.query(`DROP INDEX ${name}`);
  const client = await pool.connect();
  try {
    await client.query(`SET session_replication_role = replica`);
    await client.query(text, values);
    await client.query(`SET maintenance_work_mem = '1GB'`);
    for (const { definition } of indexes) await client.query(definition);
  } finally {
    client.release(true);
  }
}
