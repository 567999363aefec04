import type { ClientBase, Pool } from 'pg';
import type { Id } from '../domain/ids.ts';
import { transaction, type Database } from '../db/pool.ts';
import { endActiveDeployments } from './deployment-completion.ts';

/** The fields of a workload that its controller copies from Kubernetes; part of the gate's feed. */
export interface WorkloadProjection {
  /** The object's label `platform.svc/id`. */
  id: Id;
  kind: 'App' | 'Function' | 'Job';
  environmentId: Id;
  project: string;
  environment: string;
  namespace: string;
  name: string;
  /** Whether the gate requires a key; always false for workloads without a gate. */
  gated: boolean;
}

/** Whether the controller of a workload has written its row. */
export async function isRecorded(database: Database, id: Id): Promise<boolean> {
  const { rowCount } = await database.query('SELECT 1 FROM workloads WHERE id = $1', [id]);
  return rowCount === 1;
}

export interface Workload extends WorkloadProjection {
  createdAt: Date;
}

const columns = `id, kind, environment_id AS "environmentId", project, environment, namespace, name, gated,
  created_at AS "createdAt"`;

/** Which of these workloads have a row that is the same, or a deleted one; undefined for the others. */
export async function findProjected(
  database: Database,
  workloads: readonly WorkloadProjection[],
): Promise<(true | undefined)[]> {
  const column = <Name extends keyof WorkloadProjection>(name: Name) => workloads.map((workload) => workload[name]);
  const { rows } = await database.query<{ id: Id }>({
    name: 'find-projected',
    text: `SELECT id FROM workloads JOIN unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[],
         $7::text[], $8::boolean[])
       AS desired (id, kind, environment_id, project, environment, namespace, name, gated) USING (id)
     WHERE deleted_at IS NOT NULL OR
       (workloads.kind, workloads.environment_id, workloads.project, workloads.environment, workloads.namespace,
         workloads.name, workloads.gated) =
       (desired.kind, desired.environment_id, desired.project, desired.environment, desired.namespace, desired.name,
         desired.gated)`,
    values: [
      column('id'),
      column('kind'),
      column('environmentId'),
      column('project'),
      column('environment'),
      column('namespace'),
      column('name'),
      column('gated'),
    ],
  });
  const projected = new Set(rows.map(({ id }) => id));
  return workloads.map(({ id }) => projected.has(id) || undefined);
}

/**
 * Writes a workload's row from its object, if it differs. Idempotent. Another existing row of the same name belongs to
 * an object whose deletion was missed, and is marked deleted; a deleted row stays deleted.
 */
export async function projectWorkload(pool: Pool, workload: WorkloadProjection): Promise<void> {
  const { id, kind, environmentId, project, environment, namespace, name, gated } = workload;
  const values = [id, kind, environmentId, project, environment, namespace, name, gated];
  const [projected] = await findProjected(pool, [workload]);
  if (projected) return;
  await transaction(pool, async (client) => {
    const { rows: duplicates } = await client.query<{ id: Id }>(
      `SELECT id FROM workloads WHERE namespace = $1 AND name = $2 AND deleted_at IS NULL AND id <> $3`,
      [namespace, name, id],
    );
    for (const other of duplicates) await markDeleted(client, other.id);
    await client.query(
      `INSERT INTO workloads (id, kind, environment_id, project, environment, namespace, name, gated)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
       ON CONFLICT (id) DO UPDATE SET kind = $2, environment_id = $3, project = $4, environment = $5, namespace = $6,
         name = $7, gated = $8
       WHERE workloads.deleted_at IS NULL`,
      values,
    );
  });
}

/**
 * Marks a workload deleted: the gate drops it, its active deployments end as cancelled, and its name becomes free. Its
 * history stays. Idempotent; ignores an id that was never projected.
 */
export async function markWorkloadDeleted(pool: Pool, id: Id): Promise<void> {
  await transaction(pool, (client) => markDeleted(client, id));
}

async function markDeleted(client: ClientBase, id: Id): Promise<void> {
  const { rowCount } = await client.query(
    `UPDATE workloads SET deleted_at = now() WHERE id = $1 AND deleted_at IS NULL`,
    [id],
  );
  if (rowCount === 1) await endActiveDeployments(client, id, 'cancelled', 'The app was deleted.');
}

/** Finds an existing workload by name; undefined also before its controller projected it. */
export async function findWorkload(database: Database, namespace: string, name: string): Promise<Workload | undefined> {
  const { rows } = await database.query<Workload>(
    `SELECT ${columns} FROM workloads WHERE namespace = $1 AND name = $2 AND deleted_at IS NULL`,
    [namespace, name],
  );
  return rows[0];
}
