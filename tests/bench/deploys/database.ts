import pg from 'pg';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { appLabel, systemNamespace } from '../../../runtime/domain/labels.ts';
import type { Secret } from '../../../runtime/host/owned-secret.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';

/** A connection to the platform's own PostgreSQL, at its pod. */
export async function platformDatabase(kube: KubeClient): Promise<pg.Client> {
  const secret = await kube.get<Secret>(kinds.Secret, 'svc-database', systemNamespace);
  const selection = { namespace: systemNamespace, labelSelector: `${appLabel}=svc-postgres` };
  const pod = (await kube.list<Pod>(kinds.Pod, selection)).items[0];
  const port = pod?.spec.containers[0]?.ports?.[0]?.containerPort;
  if (!secret || port === undefined) throw new Error('the platform has no PostgreSQL of its own');
  const client = new pg.Client({
    ...{ host: pod?.status?.podIP, port, user: 'svc', database: 'svc' },
    password: Buffer.from(secret.data?.['password'] ?? '', 'base64').toString('utf8'),
  });
  await client.connect();
  return client;
}

/** How long each of `count` commits of one row took, in ms: what a durable promise costs at the least. */
export async function durableCommits(client: pg.Client, count: number): Promise<number[]> {
  await client.query('CREATE TABLE IF NOT EXISTS bench_commits (id integer, body text)');
  const times: number[] = [];
  const body = 'x'.repeat(200);
  for (let id = 0; id < count; id++) {
    const begun = performance.now();
    await client.query('INSERT INTO bench_commits VALUES ($1, $2)', [id, body]);
    times.push(performance.now() - begun);
  }
  await client.query('DROP TABLE bench_commits');
  return times;
}

/** How the deployments of these apps stand, by state; of those with these ids only when given. */
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
