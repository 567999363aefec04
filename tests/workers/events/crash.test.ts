import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { json } from 'node:stream/consumers';
import t from 'tap';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { podLabels } from '../../../runtime/domain/labels.ts';
import { startProcess } from '../../support/platform-process.ts';
import { testDatabase } from '../../support/postgres.ts';
import { testRedis } from '../../support/redis.ts';
import { freePort, testServers } from '../../support/servers.ts';
import { serveApps } from '../rollouts/app-api-server.ts';
import { testKeys } from '../rollouts/worker-world.ts';
import { eventWorld } from './event-world.ts';

/** Rows inserted before each kill, with each kill, and once at the start. */
const portion = 150;
/** The function never accepts these. */
const refusedEvery = portion;
/** Deliveries between two kills. */
const between = 90;

/** The target of a kill: a process by SIGKILL, or the worker by itself right after it took or marked events. */
const kills = ['sidecar', 'workers', 'api', 'events.taken', 'events.marked'] as const;
const rounds = [...kills, 'workers', 'sidecar'] as const;
const rows = portion * (2 * rounds.length + 1);

t.test('every row reaches the function despite kills, and none is marked without a 2xx', async (t) => {
  const { pool: source, name: database } = await testDatabase(t);
  await source.query('CREATE TABLE orders (id int PRIMARY KEY, done boolean NOT NULL DEFAULT false)');
  let rowCount = 0;
  const insert = async () => {
    await source.query('INSERT INTO orders SELECT generate_series($1::int, $2)', [rowCount + 1, rowCount + portion]);
    rowCount += portion;
  };
  await insert();
  const server = new URL(testServers().postgres.url);
  const { pool, url, kube, id } = await eventWorld(t, {
    sources: {},
    own: true,
    settings: {
      type: 'postgres',
      source: 'db',
      query: 'SELECT id FROM orders WHERE NOT done ORDER BY id',
      markDone: 'UPDATE orders SET done = true WHERE id = {{id}}::int',
    },
    credentials: {
      type: 'postgres',
      host: server.hostname,
      port: Number(server.port),
      tls: false,
      username: 'svc',
      password: 'x',
      database,
    },
  });

  // The function: a row counts as accepted before its 2xx is sent.
  const deliveriesByRow = new Map<number, number>();
  const deliveries = { count: 0, seen: () => {} };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { id: row } = (await json(request)) as { id: number };
    deliveries.count++;
    const refused = row % refusedEvery === 0;
    if (!refused) deliveriesByRow.set(row, (deliveriesByRow.get(row) ?? 0) + 1);
    response.writeHead(refused ? 422 : 204).end();
    deliveries.seen();
  };
  const handler = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await once(handler, 'listening');
  t.teardown(() => {
    handler.close();
    handler.closeAllConnections();
  });
  const untilDelivered = async (count: number) => {
    while (deliveries.count < count) await new Promise<void>((resolve) => (deliveries.seen = resolve));
  };

  // The platform's processes, and the function's sidecar.
  const labels = podLabels({ kind: 'Function', name: 'intake', id }, 'serve');
  const pod = { name: 'intake-x', uid: newId() };
  const seeded: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...pod, namespace: 'shop-prod', labels },
    spec: { containers: [] },
  };
  kube.seed(seeded);
  const user = {
    username: 'system:serviceaccount:shop-prod:default',
    extra: { 'authentication.kubernetes.io/pod-name': [pod.name], 'authentication.kubernetes.io/pod-uid': [pod.uid] },
  };
  const review = { authenticated: true, audiences: ['svc-events'], user };
  const kubeconfig = await serveApps(t, kube, { review });
  const folder = dirname(kubeconfig);
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  mkdirSync(join(folder, 'failpoints'));
  const redis = await testRedis(t);
  const eventsPort = String(await freePort());
  const stores = { DATABASE_URL: url, KUBECONFIG: kubeconfig, ENCRYPTION_KEYS_FILE: file('keys.json', testKeys) };
  const workers = () =>
    startProcess(t, 'workers/main.ts', {
      ...stores,
      ADMIN_PORT: '0',
      REDIS_URL: redis.url,
      SVC_FAILPOINTS_DIR: join(folder, 'failpoints'),
    });
  const passwordFile = file('password', 'correct horse battery staple\n');
  const api = () =>
    startProcess(t, 'functions/main.ts', {
      ...stores,
      PORT: '0',
      ADMIN_PORT: '0',
      EVENTS_PORT: eventsPort,
      BASE_URL: 'http://127.0.0.1',
      ADMIN_PASSWORD_FILE: passwordFile,
    });
  const tokenFile = file('token', 'token-1');
  const program = join(import.meta.dirname, '../../../infra/images/function-node/poll.mjs');
  const sidecar = () => {
    const child = spawn(process.execPath, [program], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        HTTP_PORT: String((handler.address() as AddressInfo).port),
        EVENTS_TOKEN_FILE: tokenFile,
        EVENTS_URL: `http://127.0.0.1:${eventsPort}`,
      },
    });
    const ended = once(child, 'exit').then(([code, signal]) => (signal ?? code) as number | string);
    t.teardown(async () => {
      child.kill('SIGKILL');
      await ended;
    });
    return { child, ended };
  };
  const start = { workers, api, sidecar };
  const running = { workers: workers(), api: api(), sidecar: sidecar() };

  const marked = async () => {
    const markedRows = await source.query<{ id: number }>('SELECT id FROM orders WHERE done');
    return markedRows.rows.map((row) => row.id);
  };
  for (const [round, what] of rounds.entries()) {
    // Whatever was delivered while a process was down, this number of rows remains to be delivered.
    await insert();
    await untilDelivered(deliveries.count + between);
    const victim = what === 'sidecar' || what === 'api' ? what : 'workers';
    if (what.startsWith('events.')) file(`failpoints/${what}`, '');
    else running[victim].child.kill('SIGKILL');
    // The new rows take the worker to its failpoint.
    await insert();
    t.equal(await running[victim].ended, 'SIGKILL', `round ${round}: ${what}`);
    t.same(
      (await marked()).filter((row) => !deliveriesByRow.has(row)),
      [],
      'nothing is marked that the function has not accepted',
    );
    // Simulates that the leases of the killed process have expired.
    await pool.query('UPDATE work SET leased_until = now() WHERE leased_until IS NOT NULL');
    if (victim === 'sidecar') await pool.query('UPDATE function_events SET due_at = now() WHERE leased');
    running[victim] = start[victim]() as never;
  }
  const refused = rows / refusedEvery;
  while ((await marked()).length < rows - refused) await new Promise((resolve) => setTimeout(resolve, 100));

  t.equal(deliveriesByRow.size, rows - refused, 'every row was accepted');
  t.same(
    (await marked()).filter((row) => !deliveriesByRow.has(row)),
    [],
  );
  const dead = await pool.query(`SELECT event_id FROM function_events WHERE state = 'dead'`);
  t.equal(dead.rowCount, refused, 'a row that the function refuses is a dead letter and not marked');
  const twice = [...deliveriesByRow.values()].filter((times) => times > 1).length;
  t.comment(`${deliveries.count} deliveries of ${rows} rows, ${twice} rows more than once`);
});
