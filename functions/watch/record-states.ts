import type { Pool } from 'pg';
import type { WatchKind } from '../../runtime/contracts/api/watch.ts';
import type { Id } from '../../runtime/domain/ids.ts';

/** An environment whose rows are read. */
export interface WatchedEnvironment {
  projectId: Id;
  project: string;
  environmentId: Id;
  environment: string;
}

/** The state of a row, or of all rows of a list: it has another version after each change. */
export interface RecordState {
  projectId: Id;
  kind: WatchKind;
  environment: string | null;
  /** Of the workload; null for a list. */
  name: string | null;
  /** Of the newest row; null for a list. */
  id: string | null;
  version: string;
}

/** Events of a function beyond this number are not counted. */
const countMax = 1_000;

const watchedEnvironments = `WITH watched AS MATERIALIZED (
  SELECT * FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[]) AS e (project_id, project, environment_id, environment))`;
/** The workloads of the watched environments. A name can be that of an earlier project, so the environment's id counts. */
const watchedWorkloads = `watched e JOIN workloads w
  ON w.project = e.project AND w.environment_id = e.environment_id AND w.deleted_at IS NULL`;

function columnsOf(environments: readonly WatchedEnvironment[]): unknown[] {
  return [
    environments.map(({ projectId }) => projectId),
    environments.map(({ project }) => project),
    environments.map(({ environmentId }) => environmentId),
    environments.map(({ environment }) => environment),
  ];
}

/**
 * The newest deployment and webhook delivery of each app, and the lists of members and notification targets. `xmin` is the
 * transaction that wrote a row last. Also the version of each user, and that of the gate's feed, which changes with every
 * plan and key.
 */
export async function readRecordStates(
  pool: Pool,
  projectIds: readonly Id[],
  environments: readonly WatchedEnvironment[],
  userIds: readonly Id[],
): Promise<{ records: RecordState[]; users: Map<Id, string>; gate: string }> {
  const { rows } = await pool.query<Omit<RecordState, 'kind'> & { kind: WatchKind | 'User' | 'Feed' }>({
    name: 'watch-records',
    text: `${watchedEnvironments}
      SELECT e.project_id AS "projectId", 'Deployment' AS kind, e.environment, w.name, newest.id::text AS id,
        concat_ws(' ', newest.xmin, active.id, active.xmin) AS version
      FROM ${watchedWorkloads} AND w.kind = 'App'
        CROSS JOIN LATERAL (SELECT d.id, d.xmin FROM deployments d WHERE d.workload_id = w.id
          ORDER BY d.accepted_at DESC, d.id DESC LIMIT 1) newest
        LEFT JOIN LATERAL (SELECT d.id, d.xmin FROM deployments d WHERE d.workload_id = w.id AND d.ended_at IS NULL
          LIMIT 1) active ON true
      UNION ALL
      SELECT e.project_id, 'WebhookDelivery', e.environment, w.name, newest.id::text, newest.xmin::text
      FROM ${watchedWorkloads} AND w.kind = 'App'
        CROSS JOIN LATERAL (SELECT d.id, d.xmin FROM webhook_deliveries d WHERE d.workload_id = w.id
          ORDER BY d.received_at DESC, d.id DESC LIMIT 1) newest
      UNION ALL
      SELECT project_id, 'Member', NULL, NULL, NULL, concat(count(*), ' ', sum(hashtextextended(state, 0)))
      FROM (SELECT m.project_id, concat_ws(' ', m.user_id, m.xmin, u.email, u.disabled_at) AS state
          FROM project_members m JOIN users u ON u.id = m.user_id WHERE m.project_id = ANY($5::uuid[])
        UNION ALL
        SELECT i.project_id, concat_ws(' ', i.email, i.xmin) FROM project_invitations i
          WHERE i.project_id = ANY($5::uuid[])) AS members
      GROUP BY project_id
      UNION ALL
      SELECT t.project_id, 'Notification', NULL, NULL, NULL, concat(count(*), ' ',
        sum(hashtextextended(concat_ws(' ', t.id, t.xmin, newest.id, newest.xmin), 0)))
      FROM notification_targets t LEFT JOIN LATERAL (SELECT d.id, d.xmin FROM notification_deliveries d
        WHERE d.target_id = t.id ORDER BY d.created_at DESC, d.id DESC LIMIT 1) newest ON true
      WHERE t.project_id = ANY($5::uuid[]) GROUP BY t.project_id
      UNION ALL
      SELECT u.id, 'User', NULL, NULL, NULL, u.xmin::text FROM users u WHERE u.id = ANY($6::uuid[])
      UNION ALL
      SELECT f.feed_id, 'Feed', NULL, NULL, NULL, f.version::text FROM feed_head f`,
    values: [...columnsOf(environments), projectIds, userIds],
  });
  const records: RecordState[] = [];
  const users = new Map<Id, string>();
  let gate = '';
  for (const { kind, ...row } of rows) {
    if (kind === 'User') users.set(row.projectId, row.version);
    else if (kind === 'Feed') gate = row.version;
    else records.push({ kind, ...row });
  }
  return { records, users, gate };
}

/** The lists of plans and keys. */
export async function readGateStates(pool: Pool, environments: readonly WatchedEnvironment[]): Promise<RecordState[]> {
  const list = (kind: WatchKind, table: string) => `
    SELECT e.project_id AS "projectId", '${kind}' AS kind, e.environment, NULL AS name, NULL AS id,
      concat(count(*), ' ', sum(hashtextextended(concat_ws(' ', r.id, r.xmin), 0))) AS version
    FROM watched e JOIN ${table} r ON r.environment_id = e.environment_id GROUP BY e.project_id, e.environment`;
  const { rows } = await pool.query<RecordState>({
    name: 'watch-gate',
    text: `${watchedEnvironments} ${list('Plan', 'plans')} UNION ALL ${list('Key', 'api_keys')}`,
    values: columnsOf(environments),
  });
  return rows;
}

/**
 * The events of each function with a data source: their numbers, and what tells an event from the same one before. A dead
 * letter can be redriven and die again between two reads.
 */
export async function readEventStates(pool: Pool, environments: readonly WatchedEnvironment[]): Promise<RecordState[]> {
  const counted = (state: string, order: string) => `(SELECT concat(count(*), ' ',
      sum(hashtextextended(concat_ws(' ', id, failures, leased, ended_at), 0)))
    FROM (SELECT v.id, v.failures, v.leased, v.ended_at FROM function_events v
      WHERE v.workload_id = w.id AND v.state = '${state}' ORDER BY v.id ${order} LIMIT ${countMax}) AS kept)`;
  const { rows } = await pool.query<RecordState>({
    name: 'watch-events',
    text: `${watchedEnvironments}
      SELECT e.project_id AS "projectId", 'Event' AS kind, e.environment, w.name, NULL AS id,
        concat_ws(' ', s.error, ${counted('pending', 'ASC')}, ${counted('delivered', 'ASC')}, ${counted('dead', 'DESC')})
          AS version
      FROM ${watchedWorkloads} JOIN event_sources s ON s.workload_id = w.id`,
    values: columnsOf(environments),
  });
  return rows;
}
