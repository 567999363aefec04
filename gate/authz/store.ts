import type { ClientBase } from 'pg';
import type { Id } from '../../runtime/domain/ids.ts';

/** A point of one feed's history. */
export interface FeedPosition {
  feedId: Id;
  version: number;
  /** The mark of the change at `version`; null where there is none (an empty feed, or one that was cut off before). */
  token: string | null;
}

export interface PlanRow {
  id: Id;
  requestsPerSecond: number;
  burst: number;
}

export interface KeyRow {
  id: Id;
  environmentId: Id;
  handle: string;
  digest: Buffer;
  name: string | null;
  planId: Id;
  scope: Id[] | null;
  enabled: boolean;
  expiresAt: Date | null;
}

export interface AppRow {
  id: Id;
  environmentId: Id;
  namespace: string;
  name: string;
}

/** Everything, as of one moment. */
export interface Snapshot {
  position: FeedPosition;
  plans: PlanRow[];
  keys: KeyRow[];
  apps: AppRow[];
}

/** The rows behind a run of changes, as of the moment `position`. */
export interface ChangedRows extends Snapshot {
  gone: { plans: Id[]; keys: Id[]; apps: Id[] };
}

/** What a poll learns. */
export interface Head {
  /** False on a standby: what it says may be old. */
  primary: boolean;
  position: FeedPosition;
  /** The mark that the history has at the version asked about. */
  tokenThere: string | null;
}

type Entity = 'plan' | 'key' | 'workload';

const planColumns = 'id, requests_per_second AS "requestsPerSecond", burst';
const keyColumns = `id, environment_id AS "environmentId", handle, digest, name, plan_id AS "planId", scope, enabled,
  expires_at AS "expiresAt"`;
const appColumns = 'id, environment_id AS "environmentId", namespace, name';
const isLivingApp = `kind = 'App' AND deleted_at IS NULL`;

/** More changes than this at once are slower to apply than a reload. */
const changesMax = 10_000;

/** One statement, so one moment: the head, and the mark at `version`. */
export async function readHead(client: ClientBase, version: number): Promise<Head> {
  const { rows } = await client.query<{
    standby: boolean;
    feedId: Id;
    version: string;
    token: string | null;
    tokenThere: string | null;
  }>(
    `SELECT pg_is_in_recovery() AS standby, feed_id AS "feedId", version,
       (SELECT token FROM changes WHERE changes.version = feed_head.version) AS token,
       (SELECT token FROM changes WHERE changes.version = $1) AS "tokenThere"
     FROM feed_head`,
    [version],
  );
  const row = rows[0];
  if (!row) throw new Error('feed_head is empty');
  return {
    primary: !row.standby,
    position: { feedId: row.feedId, version: Number(row.version), token: row.token },
    tokenThere: row.tokenThere,
  };
}

/** Runs `read` in one snapshot of the database. */
async function atOneMoment<T>(client: ClientBase, read: () => Promise<T>): Promise<T> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  const result = await read();
  await client.query('COMMIT');
  return result;
}

/** Everything, with the head that it belongs to. A failure leaves the connection in its transaction: drop it then. */
export async function readSnapshot(client: ClientBase): Promise<Snapshot & { primary: boolean }> {
  return atOneMoment(client, async () => {
    const { primary, position } = await readHead(client, 0);
    const plans = await client.query<PlanRow>(`SELECT ${planColumns} FROM plans`);
    const keys = await client.query<KeyRow>(`SELECT ${keyColumns} FROM api_keys`);
    const apps = await client.query<AppRow>(`SELECT ${appColumns} FROM workloads WHERE ${isLivingApp}`);
    return { primary, position, plans: plans.rows, keys: keys.rows, apps: apps.rows };
  });
}

/**
 * The rows that changed after `since`, or undefined when that cannot be told: the history is another one, is shorter,
 * has a gap (cut off before), or there are too many. Then read everything. A failure leaves the connection in its
 * transaction: drop it then.
 */
export async function readChanges(
  client: ClientBase,
  since: FeedPosition,
): Promise<(ChangedRows & { primary: boolean }) | undefined> {
  return atOneMoment(client, async () => {
    const head = await readHead(client, since.version);
    if (!continues(head, since) || head.position.version - since.version > changesMax) return undefined;
    const changes = await client.query<{ entity: Entity; id: Id }>(
      'SELECT entity, entity_id AS id FROM changes WHERE version > $1',
      [since.version],
    );
    if (changes.rows.length !== head.position.version - since.version) return undefined;
    const idsOf = (entity: Entity) => [
      ...new Set(changes.rows.filter((row) => row.entity === entity).map(({ id }) => id)),
    ];
    const ids = { plans: idsOf('plan'), keys: idsOf('key'), apps: idsOf('workload') };
    const plans = await client.query<PlanRow>(`SELECT ${planColumns} FROM plans WHERE id = ANY($1)`, [ids.plans]);
    const keys = await client.query<KeyRow>(`SELECT ${keyColumns} FROM api_keys WHERE id = ANY($1)`, [ids.keys]);
    const apps = await client.query<AppRow>(
      `SELECT ${appColumns} FROM workloads WHERE id = ANY($1) AND ${isLivingApp}`,
      [ids.apps],
    );
    const gone = {
      plans: without(ids.plans, plans.rows),
      keys: without(ids.keys, keys.rows),
      apps: without(ids.apps, apps.rows),
    };
    const { primary, position } = head;
    return { primary, position, plans: plans.rows, keys: keys.rows, apps: apps.rows, gone };
  });
}

/** Whether what was applied up to `since` is the beginning of the history that `head` ends. */
export function continues(head: Head, since: FeedPosition): boolean {
  return (
    head.position.feedId === since.feedId &&
    head.position.version >= since.version &&
    head.tokenThere === since.token &&
    // Without a mark at a version other than the first, the history cannot be recognised.
    (since.version === 0 || since.token !== null)
  );
}

function without(ids: Id[], rows: { id: Id }[]): Id[] {
  const found = new Set(rows.map(({ id }) => id));
  return ids.filter((id) => !found.has(id));
}
