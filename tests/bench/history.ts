import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import type { Pool } from 'pg';
import { migrate } from '../../runtime/db/migrate.ts';
import { createPool } from '../../runtime/db/pool.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { newId, type Id } from '../../runtime/domain/ids.ts';
import { usageTotalsFrom } from '../../runtime/domain/usage-window.ts';
import { utcDay } from '../../runtime/domain/period.ts';
import { housekeepingId } from '../../runtime/queues/catalogue.ts';
import { insertAuditEntry, listAuditEntries, type AuditFilters } from '../../runtime/records/audit-entries.ts';
import {
  lastOutcomes,
  listProjectDeployments,
  type DeploymentFilters,
} from '../../runtime/records/deployment-lists.ts';
import { listDeployments } from '../../runtime/records/deployments.ts';
import { deleteEnvironmentRecords } from '../../runtime/records/environments.ts';
import { listUsage, sumUsage } from '../../runtime/records/usage.ts';
import { listDeliveries } from '../../runtime/records/webhook-deliveries.ts';
import { createHousekeepingProcessor } from '../../workers/housekeeping/process.ts';
import { silentLog } from '../support/log.ts';
import { seededRandom } from '../support/random.ts';
import { query } from '../support/postgres.ts';
import { freePort, killServer, startPostgres } from '../support/servers.ts';
import { median, printFigure } from './figure.ts';
import { isMachineFree } from './gate/cores.ts';
import { fillHistory, type HistorySubjects } from './history/fill.ts';

const say = (line: string) => process.stderr.write(`${line}\n`);
const limit = 51;
const dayMs = 86_400_000;
/** Of a list or a search, in ms. */
const target = { operator: '<', value: 50 } as const;
/** The pause of the reader and of the writer beside the deletions, in ms. */
const pauseMs = 20;

/**
 * Lists and searches of deployments, webhook deliveries, usage and audit entries in tables of `--rows <n>` rows (10,000,000)
 * each, half of them of one project, with a PostgreSQL of its own: the 95th percentile of `--requests <n>` (100) each. Then
 * the deletion of what is past its retention, and of an environment with a quarter of all deployments, beside a reader and a
 * writer. Takes 20 GB of disk and half an hour at full size.
 *
 * `--data <folder>` keeps the filled database for later runs, which measure a copy of it after the migrations that are new
 * since. `--only fill|lists|deletions` does one part, and `--anyway` measures beside other work.
 */
export async function run(args: string[]): Promise<void> {
  const option = (value?: string) => ({ type: 'string', default: value }) as const;
  const options = { rows: option('10000000'), requests: option('100'), data: option(), only: option() };
  const anyway = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({ args, options: { ...options, anyway } });
  const fillsOnly = values.only === 'fill';
  if (!(await isMachineFree('history', values.anyway || fillsOnly))) return;
  const folder = values.data ?? mkdtempSync(join(tmpdir(), 'svc-bench-history-'));
  const store = await startStore(folder);
  const ends: (() => unknown)[] = [];
  try {
    const filled = `${store.url}/history`;
    const subjectsFile = join(folder, 'subjects.json');
    if (!existsSync(subjectsFile)) {
      writeFileSync(subjectsFile, JSON.stringify(await fillDatabase(store.url, Number(values.rows))));
    }
    if (fillsOnly) return;
    const subjects = JSON.parse(readFileSync(subjectsFile, 'utf8')) as HistorySubjects;
    const url = values.data === undefined ? filled : await copyDatabase(store.url);
    if (values.data !== undefined) ends.unshift(() => query(`${store.url}/postgres`, 'DROP DATABASE measured'));
    // With the time-outs of the platform's processes.
    const pool = createPool({ url, log: silentLog });
    ends.unshift(() => pool.end());
    const { rows: sizes } = await pool.query<{ bytes: number }>(
      'SELECT pg_database_size(current_database())::float8 AS bytes',
    );
    printFigure({ name: 'history.database', value: (sizes[0]?.bytes ?? 0) / 1e9, unit: 'GB' });
    if (values.only !== 'deletions') await measureLists(await listsOf(pool, subjects), Number(values.requests));
    if (values.only !== 'lists') await measureDeletions(pool, subjects);
  } finally {
    for (const end of ends) await end();
    await killServer(store.pid, 'SIGINT');
    if (values.data === undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

/** The PostgreSQL of the folder, which an earlier run may have filled. */
async function startStore(folder: string): Promise<{ url: string; pid: number }> {
  const exists = existsSync(join(folder, 'postgres', 'PG_VERSION'));
  return startPostgres(folder, exists ? { port: await freePort() } : {});
}

/** Creates the database `history` with this many rows in each table. */
async function fillDatabase(server: string, rows: number): Promise<HistorySubjects> {
  await query(`${server}/postgres`, 'DROP DATABASE IF EXISTS history');
  await query(`${server}/postgres`, 'CREATE DATABASE history');
  const url = `${server}/history`;
  await migrate({ url, clock: systemClock, log: silentLog });
  const owner = new pg.Pool({ connectionString: url, max: 1 });
  // The server may end before the pool's last connection has.
  owner.on('error', () => undefined);
  try {
    return await fillHistory(owner, rows, (table) => say(`${table} filled`));
  } finally {
    await owner.end();
  }
}

/** Copies the filled database, because the deletions change what they measure. @returns the URL of the copy */
async function copyDatabase(server: string): Promise<string> {
  await query(`${server}/postgres`, 'DROP DATABASE IF EXISTS measured');
  await query(`${server}/postgres`, 'CREATE DATABASE measured TEMPLATE history STRATEGY file_copy');
  const url = `${server}/measured`;
  const from = performance.now();
  await migrate({ url, clock: systemClock, log: silentLog });
  say(`migrated in ${((performance.now() - from) / 1000).toFixed(1)} s`);
  return url;
}

type Lists = Readonly<Record<string, () => Promise<readonly unknown[]>>>;

/** The lists and searches of the API and of the web console. */
async function listsOf(pool: Pool, { large, small, keyIds }: HistorySubjects): Promise<Lists> {
  const random = seededRandom(1);
  const pick = (items: readonly Id[]) => random.pick(items);
  const now = Date.now();
  const deployments = ({ project }: { project: string }, filters: DeploymentFilters = {}) =>
    listProjectDeployments(pool, project, { limit, ...filters });
  const audit = (filters: AuditFilters = {}) => listAuditEntries(pool, { limit, ...filters });
  const daysAgo = (days: number) => new Date(now - days * dayMs);
  const [firstApp = ''] = large.appIds;
  const idBefore = async (table: string, column: string, days: number, condition = 'true') => {
    const { rows } = await pool.query<{ id: Id }>(
      `SELECT id FROM ${table} WHERE ${condition} AND ${column} < $1 ORDER BY ${column} DESC LIMIT 1`,
      [daysAgo(days)],
    );
    return rows[0]?.id;
  };
  const ofApp = `workload_id = '${firstApp}'`;
  const deployment = await idBefore('deployments', 'accepted_at', 100, ofApp);
  const delivery = await idBefore('webhook_deliveries', 'received_at', 20, ofApp);
  const entry = await idBefore('audit_entries', 'at', 30);
  return {
    'deployments.app': () => listDeployments(pool, pick(large.appIds), { limit }),
    'deployments.app-page': () => listDeployments(pool, firstApp, { limit, before: deployment }),
    'deployments.large-project': () => deployments(large),
    'deployments.large-project-page': () => listProjectDeployments(pool, large.project, { limit, before: deployment }),
    'deployments.small-project': () => deployments(small),
    'deployments.environment': () => deployments(large, { environment: 'staging' }),
    'deployments.status': () => deployments(large, { status: 'failed' }),
    'deployments.rare-status': () => deployments(large, { status: 'cancelled' }),
    'deployments.rare-trigger': () => deployments(large, { trigger: 'promotion' }),
    'deployments.no-match': () => deployments(large, { trigger: 'git' }),
    'deployments.outcomes': () => lastOutcomes(pool, large.appIds),
    'deliveries.app': () => listDeliveries(pool, pick(large.appIds), { limit }),
    'deliveries.app-page': () => listDeliveries(pool, firstApp, { limit, before: delivery }),
    'usage.key': () => {
      const window = { from: utcDay(daysAgo(91)), to: utcDay(new Date(now)) };
      return listUsage(pool, pick(keyIds), window);
    },
    'usage.keys': async () => {
      const first = Math.floor(random.next() * Math.max(1, keyIds.length - 100));
      return [...(await sumUsage(pool, keyIds.slice(first, first + 100), usageTotalsFrom(new Date(now))))];
    },
    'audit.platform': () => audit(),
    'audit.platform-page': () => listAuditEntries(pool, { limit, before: entry }),
    'audit.platform-rare-action': () => audit({ action: 'secret.reveal' }),
    'audit.platform-no-action': () => audit({ action: 'plan.' }),
    'audit.platform-rare-object': () => audit({ object: 'rare' }),
    'audit.platform-project': () => audit({ project: small.project }),
    'audit.platform-no-project': () => audit({ project: 'nothing' }),
    'audit.platform-environment': () => audit({ environment: 'rare' }),
    'audit.until': () => audit({ until: daysAgo(60) }),
    'audit.since-until': () => audit({ since: daysAgo(61), until: daysAgo(60) }),
    'audit.large-project': () => audit({ projectId: large.projectId }),
    'audit.small-project': () => audit({ projectId: small.projectId }),
    'audit.project-until': () => audit({ projectId: large.projectId, until: daysAgo(60) }),
    'audit.project-action': () => audit({ projectId: large.projectId, action: 'app.' }),
    'audit.project-rare-action': () => audit({ projectId: large.projectId, action: 'secret.reveal' }),
    'audit.project-no-action': () => audit({ projectId: large.projectId, action: 'plan.' }),
    'audit.project-rare-object': () => audit({ projectId: large.projectId, object: 'rare' }),
    'audit.project-no-object': () => audit({ projectId: large.projectId, object: 'nothing' }),
    'audit.project-environment': () => audit({ projectId: large.projectId, environment: 'rare' }),
    'audit.project-actor': () => audit({ projectId: large.projectId, actor: 'user2@example.com' }),
    'audit.project-actor-object': () =>
      audit({ projectId: large.projectId, actor: 'user2@example.com', object: 'nothing' }),
    'audit.project-rare-actor': () => audit({ projectId: large.projectId, actor: 'rare@example.com' }),
  };
}

async function measureLists(lists: Lists, requests: number): Promise<void> {
  for (const [name, list] of Object.entries(lists)) {
    const times: number[] = [];
    let rows = 0;
    try {
      // What takes much too long is clear after a few.
      const startedAt = performance.now();
      while (times.length < requests && (times.length < 3 || performance.now() - startedAt < 20_000)) {
        const from = performance.now();
        rows = (await list()).length;
        times.push(performance.now() - from);
      }
      say(`${name}: ${rows} rows, median ${median(times).toFixed(1)} ms of ${times.length}`);
    } catch (error) {
      say(`${name}: ${String(error)}`);
      times.push(Infinity);
    }
    printFigure({ name: `history.${name}.p95`, value: percentile(times, 0.95), unit: 'ms', target });
  }
}

function percentile(times: readonly number[], share: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** Deletes what is past its retention, and then an environment, each beside a reader and a writer. */
async function measureDeletions(pool: Pool, { large, small, keyIds }: HistorySubjects): Promise<void> {
  const process = createHousekeepingProcessor({ pool, clock: systemClock });
  const attempt = { recordId: housekeepingId, attempt: 1, last: false, signal: new AbortController().signal };
  const reads: Lists = {
    deployments: () => listProjectDeployments(pool, small.project, { limit }),
    deliveries: () => listDeliveries(pool, small.appIds[0] ?? '', { limit }),
    audit: () => listAuditEntries(pool, { projectId: small.projectId, limit }),
    usage: () => listUsage(pool, keyIds[0] ?? '', { from: '2000-01-01', to: '2100-01-01' }),
  };
  const count = async (tables: readonly string[]) => {
    let rows = 0;
    for (const table of tables) {
      const result = await pool.query<{ rows: number }>(`SELECT count(*)::float8 AS rows FROM ${table}`);
      rows += result.rows[0]?.rows ?? 0;
    }
    return rows;
  };
  const deletions = {
    retention: {
      tables: ['webhook_deliveries', 'audit_entries', 'usage'],
      // Each attempt works for half of its time-out, and the next follows at once.
      work: async () => {
        for (let ended = false; !ended;) {
          const { again } = (await process({ ...attempt, log: silentLog })) as { again: Date };
          ended = again.getTime() > Date.now();
        }
      },
    },
    environment: {
      tables: ['deployments', 'webhook_deliveries', 'usage'],
      work: () => deleteEnvironmentRecords(pool, large.environmentId),
    },
  };
  for (const [name, { tables, work }] of Object.entries(deletions)) {
    const before = await count(tables);
    const beside = startBeside({
      ...reads,
      write: async () => {
        const line = { action: 'app.update' as const, method: 'PATCH', actor: 'bench@example.com', app: 'bench' };
        await insertAuditEntry(
          pool,
          { line: { ...line, projectId: small.projectId, project: small.project } },
          newId(),
        );
        return [];
      },
    });
    const from = performance.now();
    const error = await work().then(
      () => undefined,
      (cause: unknown) => (cause instanceof Error ? cause.message : 'it failed'),
    );
    const seconds = (performance.now() - from) / 1000;
    const times = await beside.stop();
    if (error !== undefined) say(`${name}: ${error}`);
    const deleted = before - (await count(tables));
    printFigure({ name: `history.${name}.deleted`, value: deleted, unit: 'rows' });
    printFigure({ name: `history.${name}.rate`, value: deleted / seconds, unit: 'rows/s' });
    for (const [kind, share] of Object.entries(times)) {
      printFigure({ name: `history.${name}.beside-${kind}.p95`, value: percentile(share, 0.95), unit: 'ms', target });
      printFigure({ name: `history.${name}.beside-${kind}.max`, value: Math.max(...share), unit: 'ms' });
    }
  }
}

/** Repeats each of these until it is stopped. */
function startBeside(each: Lists): { stop(): Promise<Record<string, number[]>> } {
  const ended = new AbortController();
  const times = Object.fromEntries(Object.keys(each).map((name) => [name, [] as number[]]));
  const loops = Object.entries(each).map(async ([name, once]) => {
    while (!ended.signal.aborted) {
      const from = performance.now();
      await once();
      times[name]?.push(performance.now() - from);
      await systemClock.sleep(pauseMs);
    }
  });
  return {
    async stop() {
      ended.abort();
      await Promise.all(loops);
      return times;
    },
  };
}
