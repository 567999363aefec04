import pg from 'pg';
import t, { type Test } from 'tap';
import { createAppRoutes } from '../../../functions/apps/handler.ts';
import { createLogServices } from '../../../runtime/api/log-reply.ts';
import type { LogLineView } from '../../../runtime/contracts/api/logs.ts';
import { systemClock, type Clock } from '../../../runtime/domain/clock.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { podLabels, workloadLabels } from '../../../runtime/domain/labels.ts';
import type { LogReader } from '../../../runtime/logs/log-store.ts';
import { logTime, type LogRecord } from '../../../runtime/logs/record.ts';
import { testApi, testSession } from '../../support/api.ts';
import { fakeKube, saying } from '../../support/fake-kube.ts';
import { seedShop } from '../../support/objects.ts';
import { startServer, startStore } from '../../runtime/logs/rig.ts';

const path = '/api/v1/projects/shop/apps/api/logs';
const now = Date.now();
const time = (secondsAgo: number) => logTime(new Date(now - secondsAgo * 1000));
const record = (line: string, secondsAgo: number, fields: Partial<LogRecord> = {}): LogRecord => ({
  namespace: 'shop-prod',
  pod: 'api-1',
  container: 'app',
  workload: { kind: 'app', name: 'api' },
  time: time(secondsAgo),
  stream: 'stdout',
  line,
  ...fields,
});

async function rig(t: Test, wrap: (reader: LogReader) => LogReader = (reader) => reader, clock: Clock = systemClock) {
  const store = await startStore(t);
  const { client } = await startServer(t, store);
  const kube = fakeKube();
  seedShop(kube);
  const id = newId();
  kube.seed({
    apiVersion: 'platform.svc/v1',
    kind: 'App',
    metadata: {
      name: 'api',
      namespace: 'shop-prod',
      labels: workloadLabels({ kind: 'App', name: 'api', id }),
      creationTimestamp: new Date(now - 7_200_000).toISOString(),
    },
    spec: { image: 'r.test/api:1', port: 8080, replicas: 1 },
  });
  const startedAt = new Date(now - 60_000).toISOString();
  kube.seed({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'api-2', namespace: 'shop-prod', labels: podLabels({ kind: 'App', name: 'api', id }, 'serve') },
    spec: { containers: [{ name: 'app' }] },
    status: { containerStatuses: [{ name: 'app', ready: true, restartCount: 0, state: { running: { startedAt } } }] },
  });
  /** What the pod's log has. */
  const podLog = (lines: readonly [line: string, secondsAgo: number][]) => {
    kube.stream = saying(() => lines.map(([line, secondsAgo]) => `${time(secondsAgo)} ${line}\n`).join(''));
  };
  podLog([]);
  const logs = createLogServices(wrap(client));
  const api = await testApi(t, {
    routes: createAppRoutes({ kube, pool: new pg.Pool(), clock, baseUrl: 'http://console.test', logs }),
  });
  const lines = async (query = '') => {
    const { body, status } = await api.call('GET', `${path}?${query}`);
    t.equal(status, 200);
    return (body.items as LogLineView[]).map(({ pod, line }) => `${pod} ${line}`);
  };
  return { api, store, kube, podLog, lines };
}

t.test('pods and store are one log without gap or double', async (t) => {
  const { store, podLog, lines, api } = await rig(t);
  const live = { pod: 'api-2' };
  await store.append({
    records: [
      record('old pod', 100),
      record('start', 50, live),
      record('same', 40, live),
      record('same', 40, live),
      record('lost by the pod', 45, live),
    ],
  });
  podLog([
    ['start', 50],
    ['same', 40],
    ['same', 40],
    ['same', 40],
    ['not in the store yet', 30],
  ]);
  t.same(await lines(), [
    'api-1 old pod',
    'api-2 start',
    'api-2 lost by the pod',
    'api-2 same',
    'api-2 same',
    'api-2 same',
    'api-2 not in the store yet',
  ]);
  t.same(await lines('tail=2'), ['api-2 same', 'api-2 not in the store yet']);
  t.same(await lines('search=start'), ['api-2 start']);
  t.same(await lines('pod=api-1'), ['api-1 old pod']);
  t.same(await lines(`until=${new Date(now - 90_000).toISOString()}`), ['api-1 old pod']);
  t.same((await api.call('GET', path)).body.store, 'ok');
  t.match(await api.call('GET', `${path}?follow=true&until=2026-01-01T00:00:00Z`), { status: 400 });
  t.match(await api.call('GET', `${path}?pod=*`), { status: 400 });
  t.match(await api.call('GET', `${path}?cursor=${time(1)}_1`), { status: 400 }, 'there is no cursor to forge');
});

t.test('a range begins an hour ago, and never before the workload was created', async (t) => {
  const { store, lines } = await rig(t);
  await store.append({
    records: [
      record('of another owner of the name', 8_000),
      record('two hours ago', 7_000),
      record('now', 10),
      record('other namespace', 10, { namespace: 'blog-prod' }),
      record('other kind', 10, { workload: { kind: 'function', name: 'api' } }),
    ],
  });
  t.same(await lines(), ['api-1 now']);
  t.same(await lines('sinceSeconds=86400'), ['api-1 two hours ago', 'api-1 now']);
});

t.test('the store knows for which user it is read, since users get its places in turn', async (t) => {
  for (const query of ['', '?all=true', '?follow=true']) {
    const read = Promise.withResolvers<string | undefined>();
    const { api } = await rig(t, (reader) => ({
      read(query, signal) {
        read.resolve(query.reader);
        return reader.read(query, signal);
      },
    }));
    const stop = new AbortController();
    const answer = await fetch(`${api.url}${path}${query}`, {
      headers: { authorization: 'Bearer good' },
      signal: stop.signal,
    });
    t.equal(answer.status, 200);
    t.equal(await read.promise, testSession.userId, query);
    stop.abort();
    await answer.text().catch(() => undefined);
  }
});

t.test('without its store, the pods answer, and the reply says so', async (t) => {
  const { podLog, api } = await rig(t, () => ({ read: () => Promise.reject(new Error('down')) }));
  podLog([['alive', 5]]);
  t.match((await api.call('GET', path)).body, { items: [{ line: 'alive' }], store: 'unavailable' });
});

t.test('a search that takes long ends with what it has found, and says that the beginning is missing', async (t) => {
  const firstLine = Promise.withResolvers<void>();
  const endless = (reader: LogReader): LogReader => ({
    async read(query, signal) {
      const { keptSince, batches } = await reader.read(query, signal);
      return {
        keptSince,
        batches: (async function* () {
          yield* batches;
          // Its time is over.
          firstLine.resolve();
          await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
        })(),
      };
    },
  });
  const clock: Clock = {
    ...systemClock,
    sleep: (ms, signal) => (ms === 15_000 ? firstLine.promise : systemClock.sleep(ms, signal)),
  };
  const { store, api } = await rig(t, endless, clock);
  await store.append({ records: [record('newest', 100)] });
  t.match((await api.call('GET', `${path}?search=newest`)).body, {
    items: [{ line: 'newest' }],
    truncated: true,
    store: 'ok',
  });
});

t.test('a download has every line once, and an end', async (t) => {
  const { store, podLog, api } = await rig(t);
  const records = Array.from({ length: 12_000 }, (_, index) => record(String(index), 500));
  await store.append({ records: [...records, record('both', 20, { pod: 'api-2' })] });
  podLog([
    ['both', 20],
    ['newer', 10],
  ]);
  const answer = await fetch(`${api.url}${path}?all=true`, { headers: { authorization: 'Bearer good' } });
  const lines = (await answer.text())
    .split('\n')
    .filter(Boolean)
    .map((text) => JSON.parse(text) as LogLineView & { end?: true });
  t.match(lines.at(-1), { end: true, store: 'ok' });
  t.same(
    lines.slice(0, -1).map(({ line }) => line),
    [...records.map(({ line }) => line), 'both', 'newer'],
  );
});

t.test('a followed log begins with the lines of pods that are gone', async (t) => {
  const { store, podLog, api } = await rig(t);
  await store.append({ records: [record('gone', 100), record('earlier container', 90, { pod: 'api-2' })] });
  await store.append({ records: [record('has it', 40, { pod: 'api-2' })] });
  podLog([['has it', 40]]);
  const stop = new AbortController();
  const answer = await fetch(`${api.url}${path}?follow=true&tail=10`, {
    headers: { authorization: 'Bearer good' },
    signal: stop.signal,
  });
  let text = '';
  for await (const chunk of answer.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.includes('has it')) break;
  }
  stop.abort();
  const lines = text
    .split('\n')
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as LogLineView).line);
  t.same(lines, ['gone', 'earlier container', 'has it']);
});

t.test('a user follows a bounded number of logs', async (t) => {
  const { api } = await rig(t);
  const stop = new AbortController();
  const follow = () =>
    fetch(`${api.url}${path}?follow=true`, { headers: { authorization: 'Bearer good' }, signal: stop.signal });
  const answers = await Promise.all(Array.from({ length: 35 }, follow));
  t.equal(answers.filter(({ status }) => status === 200).length, 30);
  const refused = answers.find(({ status }) => status === 429);
  t.equal(refused?.headers.get('retry-after'), '1');
  stop.abort();
});
