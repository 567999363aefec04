import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import type { Pod } from '../../runtime/contracts/pod.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { appLabel } from '../../runtime/domain/labels.ts';
import { bindingSecretName, boundCredentials } from '../../runtime/workloads/bindings.ts';
import type { Secret } from '../../runtime/workloads/owned-secret.ts';
import { createKubeClient } from '../../runtime/kube/client.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { loadKubeConfig } from '../../runtime/kube/kubeconfig.ts';
import { runningPlatform, uniqueName, type Platform } from '../support/platform.ts';
import { median, printFigure } from './figure.ts';

const service = 'db';
const code = 'export const handler = () => ({ statusCode: 204 });\n';
const query = 'SELECT id, name FROM orders WHERE done IS NULL ORDER BY id';
const markDone = 'UPDATE orders SET done = clock_timestamp() WHERE id = {{id}}::bigint';
/** How many events of the million are waited for. */
const sample = 10_000;
const say = (line: string) => process.stderr.write(`${line}\n`);

/**
 * A function with a PostgreSQL event source and one pod, until all events are marked as done. Measures the rate with
 * ten thousand waiting rows, and the cost of an event with a million waiting rows compared with a thousand. Needs a
 * running platform (`SVC_HOME`, else the one of `npm start`). `--batches <n>` of a thousand (5), `--backlog <n>` for
 * the million, `--concurrency <n>` of the function (10).
 */
export async function run(args: string[]): Promise<void> {
  const option = (value: string) => ({ type: 'string', default: value }) as const;
  const { values } = parseArgs({
    args,
    options: { batches: option('5'), backlog: option('1000000'), concurrency: option('10') },
  });
  const platform = await runningPlatform();
  const kube = createKubeClient(loadKubeConfig(platform.info.kubeconfig));
  const project = uniqueName('bench');
  try {
    await platform.ok(['project', 'create', project, '--environment', 'prod']);
    const source = await createIntake(platform, kube, project, values.concurrency);
    try {
      await measure(source, Number(values.batches), Number(values.backlog));
    } finally {
      await source.end();
    }
  } finally {
    await platform.ok(['project', 'delete', project, '--yes']);
    await kube.close();
  }
}

async function measure(source: pg.Client, batches: number, backlog: number): Promise<void> {
  // The pod starts with the first ones.
  await drain(source, 1_000, 1_000);
  const thousand: number[] = [];
  for (let batch = 0; batch < batches; batch++) {
    thousand.push(await drain(source, 1_000, 1_000));
    say(`a thousand, ${batch + 1}: ${thousand.at(-1)?.toFixed(3)} ms an event`);
  }
  const rate = 1_000 / (await drain(source, sample, sample));
  printFigure({ name: 'events.rate', value: rate, unit: 'events/s', target: { operator: '>=', value: 1_000 } });
  say(`${backlog} rows`);
  const million = await drain(source, backlog, sample);
  printFigure({ name: 'events.thousand', value: median(thousand) * 1_000, unit: 'µs/event' });
  printFigure({ name: 'events.million', value: million * 1_000, unit: 'µs/event' });
  printFigure({
    name: 'events.million-to-thousand',
    value: million / median(thousand),
    unit: 'ratio',
    // Equal, except for the spread of two measurements.
    target: { operator: '<=', value: 1.1 },
  });
}

/**
 * Inserts `rows` into the empty table, waits until the first `count` are marked as done, and empties it.
 * @returns the time per event in ms, between the first and the last fifth, which excludes the first read and a start
 */
async function drain(source: pg.Client, rows: number, count: number): Promise<number> {
  await source.query('TRUNCATE orders RESTART IDENTITY');
  await source.query(`INSERT INTO orders (name) SELECT 'order ' || n FROM generate_series(1, $1) n`, [rows]);
  await source.query('ANALYZE orders');
  const countPending = async () => {
    const { rowCount } = await source.query('SELECT FROM orders WHERE id <= $1 AND done IS NULL LIMIT 1', [count]);
    return rowCount !== 0;
  };
  while (await countPending()) await systemClock.sleep(50);
  const { rows: marked } = await source.query<{ at: number }>(
    'SELECT extract(epoch FROM done)::float8 * 1000 AS at FROM orders WHERE id <= $1 ORDER BY done',
    [count],
  );
  await source.query('TRUNCATE orders');
  const [from, to] = [Math.floor(count / 5), Math.floor((count * 4) / 5)];
  return ((marked[to]?.at ?? Number.NaN) - (marked[from]?.at ?? Number.NaN)) / (to - from);
}

/**
 * A service, a function with its rows as event source, and their table. @returns a connection to it as the function's
 * own user
 */
async function createIntake(
  platform: Platform,
  kube: KubeClient,
  project: string,
  concurrency: string,
): Promise<pg.Client> {
  const name = uniqueName('intake');
  const namespace = `${project}-prod`;
  const flags = ['--project', project, '--environment', 'prod'];
  await platform.ok(['service', 'create', service, '--type', 'postgres', '--size', '2Gi', ...flags]);
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const file = join(folder, 'intake.js');
  writeFileSync(file, code);
  const trigger = ['--trigger', 'postgres', '--source', service, '--query', query, '--mark-done', markDone];
  const one = ['--max-replicas', '1', '--event-concurrency', concurrency];
  await platform.ok(['function', 'create', name, '--code-file', file, ...trigger, ...one, '--no-wait', ...flags]);
  rmSync(folder, { recursive: true });
  const client = await connect(kube, namespace, name);
  await client.query('CREATE TABLE orders (id bigserial PRIMARY KEY, name text, done timestamptz)');
  await client.query('CREATE INDEX orders_open ON orders (id) WHERE done IS NULL');
  return client;
}

/** The service's pod, since the service's name resolves only in pods. */
async function connect(kube: KubeClient, namespace: string, name: string): Promise<pg.Client> {
  for (;;) {
    const secret = await kube.get<Secret>(
      kinds.Secret,
      bindingSecretName({ kind: 'Function', metadata: { name } }, service),
      namespace,
    );
    const credentials = boundCredentials(secret?.data);
    const pods = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector: `${appLabel}=${service}` });
    const pod = pods.items[0];
    const port = pod?.spec.containers[0]?.ports?.[0]?.containerPort;
    if (credentials && pod?.status?.podIP !== undefined && port !== undefined) {
      const { username, password, database } = credentials;
      const client = new pg.Client({ host: pod.status.podIP, port, user: username, password, database });
      try {
        await client.connect();
        return client;
      } catch {
        await client.end().catch(() => undefined);
      }
    }
    await systemClock.sleep(200);
  }
}
