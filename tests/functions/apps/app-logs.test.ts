import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import pg from 'pg';
import t, { type Test } from 'tap';
import { createAppRoutes } from '../../../functions/apps/handler.ts';
import type { LogLineView } from '../../../runtime/contracts/api/logs.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { podLabels, workloadLabels } from '../../../runtime/domain/labels.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import { followLogLines } from '../../../runtime/api/pod-log-lines.ts';
import { testApi } from '../../support/api.ts';
import { settle } from '../../support/clock.ts';
import { fakeKube, saying } from '../../support/fake-kube.ts';
import { seedShop } from '../../support/objects.ts';

const path = '/api/v1/projects/shop/apps/api/logs';
const at = (second: number, fraction = '') => `2026-11-22T03:00:${String(second).padStart(2, '0')}${fraction}Z`;

async function rig(t: Test) {
  const kube = fakeKube();
  seedShop(kube);
  const id = newId();
  kube.seed({
    apiVersion: 'platform.svc/v1',
    kind: 'App',
    metadata: { name: 'api', namespace: 'shop-prod', labels: workloadLabels({ kind: 'App', name: 'api', id }) },
    spec: { image: 'r.test/api:1', port: 8080, replicas: 1 },
  });
  const addPod = (name: string) =>
    kube.seed({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'shop-prod', labels: podLabels({ kind: 'App', name: 'api', id }, 'serve') },
      spec: { containers: [{ name: 'app' }] },
      status: { containerStatuses: [{ name: 'app', ready: true, restartCount: 0, state: { running: {} } }] },
    });
  /** Every followed log, in the order of the requests. */
  const streams: { pod: string; query: URLSearchParams; output: PassThrough }[] = [];
  const logStream = new PassThrough({ objectMode: true });
  kube.stream = async function* (url, signal) {
    const { pathname, searchParams } = new URL(url, 'http://api');
    // Nothing was printed before.
    if (!searchParams.has('follow')) return;
    const output = new PassThrough();
    signal.addEventListener('abort', () => output.destroy());
    streams.push({ pod: pathname.split('/').at(-2) ?? '', query: searchParams, output });
    logStream.write('one more');
    yield* output as AsyncIterable<Uint8Array>;
  };
  const api = await testApi(t, {
    routes: createAppRoutes({ kube, pool: new pg.Pool(), clock: systemClock, baseUrl: 'http://console.test' }),
  });
  /** Waits until `count` logs are followed in all. */
  const followed = async (count: number) => {
    while (streams.length < count) await once(logStream, 'data');
    const stream = streams[count - 1];
    if (!stream) throw new Error('nobody follows');
    return stream;
  };
  const follow = async (query = '') => {
    const stop = new AbortController();
    t.teardown(() => stop.abort());
    const headers = { authorization: 'Bearer good' };
    const answer = await fetch(`${api.url}${path}?follow=true${query}`, { headers, signal: stop.signal });
    t.equal(answer.headers.get('content-type'), 'application/x-ndjson');
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    const next = async (): Promise<LogLineView> => {
      for (;;) {
        const end = rest.indexOf('\n');
        const line = rest.slice(0, Math.max(0, end));
        if (end >= 0) rest = rest.slice(end + 1);
        if (line !== '') return JSON.parse(line) as LogLineView;
        if (end >= 0) continue;
        const chunk = await reader?.read();
        if (!chunk || chunk.done) throw new Error('the stream has ended');
        rest += chunk.value;
      }
    };
    return { next, stop: () => stop.abort() };
  };
  return { kube, api, addPod, streams, followed, follow };
}

t.test('lines of several pods are ordered by time', async (t) => {
  const { kube, api, addPod } = await rig(t);
  addPod('api-1');
  addPod('api-2');
  const read: string[] = [];
  kube.stream = saying((url) => {
    read.push(url);
    return url.includes('api-1') ? `${at(1, '.5')} one\n${at(3)} three\n` : `${at(1, '.25')} zero\n${at(2)} \n`;
  });
  const answer = await api.call('GET', `${path}?tail=7&sinceTime=2026-11-22T02:00:00Z&previous=true`);
  t.same(answer.body.items, [
    { pod: 'api-2', time: '2026-11-22T03:00:01.250000000Z', line: 'zero' },
    { pod: 'api-1', time: '2026-11-22T03:00:01.500000000Z', line: 'one' },
    { pod: 'api-2', time: '2026-11-22T03:00:02.000000000Z', line: '' },
    { pod: 'api-1', time: '2026-11-22T03:00:03.000000000Z', line: 'three' },
  ]);
  const query = new URL(read[0] ?? '', 'http://api').searchParams;
  t.match(Object.fromEntries(query), { container: 'app', tailLines: '8', previous: 'true', timestamps: 'true' });
  t.equal(query.get('sinceTime'), '2026-11-22T02:00:00.000Z');
  const last = await api.call('GET', `${path}?tail=3`);
  t.match(last.body.items, [{ line: 'one' }, { line: '' }, { line: 'three' }], 'the last of all pods');
  kube.stream = saying((url) => (url.includes('api-1') ? '2026-11-22T05:00:01.5+02:00 one\n' : `${at(2)} two\n`));
  t.same(
    (await api.call('GET', path)).body.items,
    [
      { pod: 'api-1', time: '2026-11-22T03:00:01.500000000Z', line: 'one' },
      { pod: 'api-2', time: '2026-11-22T03:00:02.000000000Z', line: 'two' },
    ],
    'a node whose clock shows another time zone',
  );
  kube.stream = saying((url) => (url.includes('api-1') ? `${at(1)} ${'x'.repeat(2_000)}\n`.repeat(999) : ''));
  const much = await api.call('GET', path);
  t.equal(much.body.truncated, true, 'more than a MiB of one pod');
  t.match(much.body.items[0], { pod: 'api-1', line: /^x{2000}$/ });
  kube.stream = saying(() => {
    throw new KubeError(400, 'BadRequest', 'previous terminated container not found');
  });
  t.same((await api.call('GET', `${path}?previous=true`)).body, { items: [] });
  t.match(await api.call('GET', '/api/v1/projects/shop/apps/web/logs'), { status: 404 });
});

t.test('following continues across new pods, cut logs and restarted containers', async (t) => {
  const { addPod, followed, follow, streams } = await rig(t);
  addPod('api-1');
  const { next, stop } = await follow('&tail=5');
  const first = await followed(1);
  t.equal(first.query.get('follow'), 'true');
  first.output.write(`${at(1)} half`);
  first.output.write(` a line\n${at(1)} same time\n`);
  t.match(await next(), { pod: 'api-1', line: 'half a line' });
  t.match(await next(), { pod: 'api-1', line: 'same time' });

  addPod('api-2');
  const second = await followed(2);
  t.equal(second.pod, 'api-2');
  t.notOk(second.query.has('tailLines'), "a later pod's log is read from its start");
  second.output.write(`${at(2)} hello\n`);
  t.match(await next(), { pod: 'api-2', line: 'hello' });

  first.output.destroy(new Error('cut'));
  const secondStream = await followed(3);
  t.equal(secondStream.pod, 'api-1');
  t.equal(secondStream.query.get('sinceTime'), '2026-11-22T03:00:01.000Z');
  secondStream.output.write(`${at(1)} half a line\n${at(1)} same time\n${at(1)} later\n${at(4)} after\n`);
  t.match(await next(), { pod: 'api-1', line: 'later' }, 'each line once');
  t.match(await next(), { pod: 'api-1', line: 'after' });

  const closed = streams.slice(1).map(({ output }) => once(output, 'close'));
  stop();
  await Promise.all(closed);
  t.pass('a client that leaves leaves nothing behind');
});

t.test('a stream that continues after an interruption has all lines since', async (t) => {
  const { addPod, followed, follow } = await rig(t);
  addPod('api-1');
  await follow('&sinceTime=2026-11-22T02:00:00Z');
  const { query } = await followed(1);
  t.equal(query.get('sinceTime'), '2026-11-22T02:00:00.000Z');
  t.notOk(query.has('tailLines'));
});

t.test('a slow reader gets every line of several pods', async (t) => {
  const { kube, addPod } = await rig(t);
  const pods = ['api-1', 'api-2', 'api-3'];
  for (const pod of pods) addPod(pod);
  const lines = 1_500;
  kube.stream = saying(() => `${at(1)} x\n`.repeat(lines));
  const source = { namespace: 'shop-prod', labelSelector: 'app=api', container: 'app' };
  const { signal } = new AbortController();
  const options = { clock: systemClock, signal, hasEnded: () => Promise.resolve(true) };
  const counts = new Map<string, number>();
  for await (const { pod } of followLogLines(kube, source, { tail: lines }, options)) {
    if (counts.size === 0) await settle();
    counts.set(pod, (counts.get(pod) ?? 0) + 1);
  }
  t.same(Object.fromEntries(counts), Object.fromEntries(pods.map((pod) => [pod, lines])));
});
