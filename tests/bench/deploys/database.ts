import pg from 'pg';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { appLabel, systemNamespace } from '../../../runtime/domain/labels.ts';
import type { Secret } from '../../../runtime/workloads/owned-secret.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';

/** A connection to the platform's own PostgreSQL, at its pod. */
export async function platformDatabase(kube: KubeClient): Promise<pg.Client> {
  const secret = await kube.get<Secret>(kinds.Secret, 'svc-database', systemNamespace);
  const selection = { namespace: systemNamespace, labelSelector: `${appLabel}=svc-postgres` };
  const pod = (await kube.list<Pod>(kinds.Pod, selection)).items[0];
  const port = pod?.spec.containers[0]?.ports?.[0]?.containerPort;
  if (!secret || port === undefined) throw new Error('the platform has no PostgreSQL of its own');
  const client = new pg.Client({
    host: pod?.status?.podIP,
    port,
    user: 'svc',
    database: 'svc',
    password: Buffer.from(secret.data?.['password'] ?? '', 'base64').toString('utf8'),
  });
  await client.connect();
  return client;
}

/** Measures commits of one row: the minimum cost of a durable promise. */
export interface Commits {
  /** How long one took, in ms. */
  time(): Promise<number>;
  end(): Promise<void>;
}

/**
 * The table exists beforehand: creating it during the measurement would disturb both, including the platform's query
 * plans.
 */
export async function durableCommits(client: pg.Client): Promise<Commits> {
  await client.query('DROP TABLE IF EXISTS bench_commits');
  await client.query('CREATE TABLE bench_commits (body text)');
  const values = ['x'.repeat(200)];
  return {
    async time() {
      const startedAt = performance.now();
      await client.query({ name: 'bench-commit', text: 'INSERT INTO bench_commits VALUES ($1)', values });
      return performance.now() - startedAt;
    },
    end: async () => void (await client.query('DROP TABLE bench_commits')),
  };
}

/** The deployments of these apps by state; only those with these ids when given. */
export async function deploymentStates(
  client: pg.Client,
  namespace: string,
  ids?: readonly string[],
): Promise<Record<string, number>> {
  const { rows } = await client.query<{ state: string; count: number }>(
    `SELECT d.state, count(*)::integer AS count FROM deployments d JOIN workloads w ON w.id = d.workload_id
     WHERE w.namespace = $1 AND ($2::uuid[] IS NULL OR d.id = ANY($2)) GROUP BY d.state`,
    [namespace, ids ?? null],
  );
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}
