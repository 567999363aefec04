import type { ClientBase, QueryResultRow } from 'pg';
import type { Id } from '../../runtime/domain/ids.ts';
import {
  continues,
  type AppRow,
  type Changes,
  type ChangesQuestion,
  type Head,
  type KeyRow,
  type LoadSink,
  type OthersRow,
  type PlanRow,
  type ReplicaState,
  type UsageQuestion,
  type ViewPosition,
} from './gate-store.ts';
import { allOthers, arrayLiteral, othersSince } from './store-usage.ts';

type Entity = 'plan' | 'key' | 'workload';

const planColumns = `id, requests_per_second AS "requestsPerSecond", burst, quota_limit::float8 AS "quotaLimit",
  quota_period AS "quotaPeriod"`;
const keyColumns = `id, environment_id AS "environmentId", handle, digest, name, plan_id AS "planId", scope, enabled,
  (extract(epoch FROM expires_at) * 1000)::float8 AS "expiresAt", allowed_cidrs::text[] AS "allowedCidrs"`;
const appColumns = 'id, environment_id AS "environmentId", namespace, name';
/** The workloads that may have a gate. The checkers treat a function as an app. */
const isLivingApp = `kind IN ('App', 'Function') AND deleted_at IS NULL`;

/** Replicas report every 5 s. One that has missed three reports does not count as running. */
const replicaTimeoutMs = 15_000;
/** Above this number of changes, a reload is faster. */
const changesMax = 10_000;
/** Rows of one piece of a load: a few milliseconds of work, after which requests are served. */
const pieceRows = 500;

/** One statement, so that all values are of the same snapshot. */
export async function readHead(
  client: ClientBase,
  since: ViewPosition | undefined,
  incarnation: Id | null,
): Promise<Head> {
  const { rows } = await client.query<{
    standby: boolean;
    feedId: Id;
    feedVersion: number;
    feedToken: string | null;
    feedTokenThere: string | null;
    usageVersion: number;
    usageToken: string | null;
    usageTokenThere: string | null;
    replica: ReplicaState;
    replicas: number;
  }>(
    `SELECT pg_is_in_recovery() AS standby, feed_id AS "feedId", feed_head.version::float8 AS "feedVersion",
       (SELECT token FROM changes WHERE changes.version = feed_head.version) AS "feedToken",
       (SELECT token FROM changes WHERE changes.version = $1) AS "feedTokenThere",
       usage_head.version::float8 AS "usageVersion",
       (SELECT token FROM usage_marks WHERE usage_marks.version = usage_head.version) AS "usageToken",
       (SELECT token FROM usage_marks WHERE usage_marks.version = $2) AS "usageTokenThere",
       coalesce((SELECT CASE WHEN closed_at IS NULL THEN 'open' ELSE 'closed' END
         FROM gate_replicas WHERE incarnation = $3), 'missing') AS replica,
       (SELECT count(*)::integer FROM gate_replicas WHERE folded_at IS NULL AND closed_at IS NULL
          AND seen_at > now() - $4 * interval '1 millisecond') AS replicas
     FROM feed_head CROSS JOIN usage_head`,
    [since?.feed.version ?? 0, since?.usage.version ?? 0, incarnation, replicaTimeoutMs],
  );
  const row = rows[0];
  if (!row) throw new Error('feed_head or usage_head is empty');
  return {
    primary: !row.standby,
    position: {
      feed: { feedId: row.feedId, version: row.feedVersion, token: row.feedToken },
      usage: { version: row.usageVersion, token: row.usageToken },
    },
    tokensThere: { feed: row.feedTokenThere, usage: row.usageTokenThere },
    replica: row.replica,
    replicas: row.replicas,
  };
}

/** Runs `read` in one snapshot of the database. A failure leaves the transaction open: close the connection then. */
async function inSnapshot<T>(client: ClientBase, read: () => Promise<T>): Promise<T> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  const result = await read();
  await client.query('COMMIT');
  return result;
}

/** The rows of a query, in pieces. Requires a transaction; run one at a time. */
async function* pieces(
  client: ClientBase,
  query: { text: string; values?: unknown[] },
): AsyncGenerator<QueryResultRow[], void> {
  await client.query({ ...query, text: `DECLARE piece NO SCROLL CURSOR FOR ${query.text}` });
  for (;;) {
    const { rows } = await client.query(`FETCH ${pieceRows} FROM piece`);
    yield rows;
    if (rows.length < pieceRows) break;
  }
  await client.query('CLOSE piece');
}

/** Reads everything, with its position. */
export async function readEverything(
  client: ClientBase,
  question: UsageQuestion,
  sink: LoadSink,
): Promise<{ primary: boolean; position: ViewPosition }> {
  return inSnapshot(client, async () => {
    const { primary, position } = await readHead(client, undefined, null);
    const rowsOf = (columns: string, table: string) => pieces(client, { text: `SELECT ${columns} FROM ${table}` });
    for await (const rows of rowsOf(planColumns, 'plans')) sink.plans(rows as PlanRow[]);
    for await (const rows of rowsOf(appColumns, `workloads WHERE ${isLivingApp}`)) sink.apps(rows as AppRow[]);
    for await (const rows of rowsOf(keyColumns, 'api_keys')) sink.keys(rows as KeyRow[]);
    for await (const rows of pieces(client, allOthers(question))) sink.others(rows as OthersRow[]);
    return { primary, position };
  });
}

/**
 * The changes since a position; the usage of other replicas goes to the sink. Undefined when they cannot be determined: the feed was replaced, is shorter, has a gap
 * (deleted changes), or has too many changes. When only the history of usage was replaced, the usage of all keys is
 * read.
 */
export async function readChanges(
  client: ClientBase,
  question: ChangesQuestion,
  sink: Pick<LoadSink, 'others'>,
): Promise<Changes | undefined> {
  const { since, incarnation } = question;
  return inSnapshot(client, async () => {
    const head = await readHead(client, since, incarnation);
    const continuity = continues(head, since);
    const { primary, position } = head;
    const behind = position.feed.version - since.feed.version;
    if (!continuity.feed || behind > changesMax) return undefined;
    const changes = await client.query<{ entity: Entity; id: Id }>(
      'SELECT entity, entity_id AS id FROM changes WHERE version > $1',
      [since.feed.version],
    );
    if (changes.rows.length !== behind) return undefined;
    const idsOf = (entity: Entity) => [
      ...new Set(changes.rows.filter((row) => row.entity === entity).map(({ id }) => id)),
    ];
    const ids = { plans: idsOf('plan'), keys: idsOf('key'), apps: idsOf('workload') };
    const rowsOf = async <Row extends QueryResultRow>(columns: string, table: string, rowIds: Id[]) =>
      rowIds.length === 0
        ? []
        : (await client.query<Row>(`SELECT ${columns} FROM ${table} AND id = ANY($1)`, [arrayLiteral(rowIds)])).rows;
    const plans = await rowsOf<PlanRow>(planColumns, 'plans WHERE true', ids.plans);
    const keys = await rowsOf<KeyRow>(keyColumns, 'api_keys WHERE true', ids.keys);
    const apps = await rowsOf<AppRow>(appColumns, `workloads WHERE ${isLivingApp}`, ids.apps);
    const missing = { plans: without(ids.plans, plans), keys: without(ids.keys, keys), apps: without(ids.apps, apps) };
    const allUsage = question.allUsage || !continuity.usage;
    const otherPeriod = plans.filter(({ id, quotaPeriod }) => quotaPeriod && quotaPeriod !== question.periodOf(id));
    const changed = { version: since.usage.version, keys: ids.keys, plans: otherPeriod.map(({ id }) => id) };
    const others = allUsage ? allOthers(question) : othersSince(question, changed);
    for await (const rows of pieces(client, others)) sink.others(rows as OthersRow[]);
    return { primary, position, plans, keys, apps, gone: missing, allUsage };
  });
}

function without(ids: Id[], rows: { id: Id }[]): Id[] {
  const existing = new Set(rows.map(({ id }) => id));
  return ids.filter((id) => !existing.has(id));
}
