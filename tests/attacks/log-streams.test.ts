import { once } from 'node:events';
import pg from 'pg';
import t from 'tap';
import { createAppRoutes } from '../../functions/apps/handler.ts';
import { followLines } from '../../runtime/api/follow-reply.ts';
import { createLogServices, streamReply } from '../../runtime/api/log-reply.ts';
import { followLogLines } from '../../runtime/api/pod-log-lines.ts';
import { systemClock, type Clock } from '../../runtime/domain/clock.ts';
import { createFairPlaces } from '../../runtime/domain/fair-places.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { workloadLabels } from '../../runtime/domain/labels.ts';
import type { LogReader } from '../../runtime/logs/log-store.ts';
import { record } from '../runtime/logs/rig.ts';
import { testApi } from '../support/api.ts';
import { fakeClock, settle } from '../support/clock.ts';
import { fakeKube } from '../support/fake-kube.ts';
import { seedShop } from '../support/objects.ts';

/*
 * console-api streams the logs of every tenant. Pods that print much or without a newline, and clients that open streams and
 * read none, must not cost its memory or the places of others.
 */

const long = 'x'.repeat(64 * 1024);

t.test('a stream keeps no line that its client has taken', async (t) => {
  let reactions = 0;
  /** Counts what waits for it: each race keeps its result for as long as the promise lives. */
  class CountedPromise<T> extends Promise<T> {
    // oxlint-disable-next-line unicorn/no-thenable -- a promise has one
    override then: Promise<T>['then'] = (onFulfilled, onRejected) => {
      reactions += 1;
      return super.then(onFulfilled, onRejected);
    };
  }
  const clock: Clock = {
    ...systemClock,
    sleep: (_ms, signal) =>
      new CountedPromise((_resolve, reject) =>
        signal?.addEventListener('abort', () => reject(new Error('the stream has ended'))),
      ),
  };
  const count = 10_000;
  const { body } = streamReply(clock, new AbortController().signal, async function* () {
    for (let index = 0; index < count; index++) yield { line: String(index) };
  });
  let text = '';
  for await (const chunk of body) text += String(chunk);
  t.equal(text.trim().split('\n').length, count);
  t.ok(reactions < 10, `${reactions} reactions to the pause`);
});

const source = { namespace: 'shop-prod', labelSelector: 'app=api', container: 'app' };

/** A cluster with a pod that prints these chunks. */
function printing(chunks: () => AsyncGenerator<Buffer>) {
  const kube = fakeKube();
  kube.seed({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'api-1', namespace: 'shop-prod', labels: { app: 'api' } },
    spec: { containers: [{ name: 'app' }] },
    status: { containerStatuses: [{ name: 'app', ready: true, restartCount: 0, state: { running: {} } }] },
  });
  kube.stream = chunks;
  return kube;
}

t.test('a client that takes nothing is cut off, and one that is slow is not', async (t) => {
  const clock = fakeClock();
  let ended = false;
  const { body } = streamReply(clock, new AbortController().signal, async function* () {
    try {
      for (;;) yield { line: long };
    } finally {
      ended = true;
    }
  });
  const closed = once(body, 'close');
  for (let round = 0; round < 10; round++) {
    body.read();
    await clock.advance(240_000);
    t.notOk(body.destroyed, `after ${round} lines`);
  }
  await clock.advance(600_000);
  await closed;
  t.ok(ended, 'nothing reads the log any longer');
});

t.test('a pod that prints without a newline has a line that is cut', async (t) => {
  // 16 MiB of text outside the Basic Multilingual Plane, which the cut must not split.
  const kube = printing(async function* () {
    yield Buffer.from('2026-11-22T03:00:00Z ab');
    for (let count = 0; count < 1_024; count++) yield Buffer.from('😀'.repeat(4_096));
    yield Buffer.from('\n2026-11-22T03:00:01Z ');
    yield Buffer.from('next\n2026-11-22T03:00:02Z end');
  });
  const stop = new AbortController();
  const options = { clock: systemClock, signal: stop.signal };
  const lines: string[] = [];
  for await (const { line } of followLogLines(kube, source, { tail: undefined }, options)) {
    lines.push(line);
    if (lines.length === 3) break;
  }
  const [cut = '', ...others] = lines;
  t.same(others, ['next', 'end']);
  t.ok(cut.length > 250_000 && cut.length <= 256 * 1024, `${cut.length} characters`);
  t.ok(cut.isWellFormed());
  t.match(cut, /^ab\u{1f600}{1000}/u);
});

t.test('a pod that prints long lines waits for a client that takes none', async (t) => {
  let printed = 0;
  const kube = printing(async function* () {
    for (; printed < 900; printed++)
      yield Buffer.from(`2026-11-22T03:00:00.${String(printed).padStart(3, '0')}Z ${long}\n`);
  });
  const stop = new AbortController();
  const options = { clock: systemClock, signal: stop.signal };
  const lines = followLogLines(kube, source, { tail: undefined }, options);
  for (let index = 0; index < 20; index++) {
    t.match((await lines.next()).value, { time: new RegExp(`\\.${String(index).padStart(3, '0')}`) });
    await settle();
    t.ok(printed <= index + 6, `${printed} lines were read, and ${index + 1} of them taken`);
  }
  await lines.return(undefined);
});

t.test('a followed log begins with few of the long lines of the store', async (t) => {
  let sent = 0;
  const store: LogReader = {
    read: async () => ({
      keptSince: '',
      batches: (async function* () {
        for (; sent < 1_000; sent++) yield [{ ...record(long, sent), id: sent }];
        return undefined;
      })(),
    }),
  };
  const stop = new AbortController();
  const workload = { kind: 'app' as const, name: 'api', createdAt: new Date(0) };
  const options = { tail: 1_000, range: {}, reader: 'user', signal: stop.signal };
  const access = { kube: fakeKube(), clock: systemClock, store };
  const lines = followLines(access, { ...source, workload }, { from: new Date(0) }, options);
  t.match(await lines.next(), { value: { line: long } });
  t.ok(sent < 20, `${sent} lines`);
  await lines.return(undefined);
});

t.test('requests with HEAD, whose streams are never read, keep no place', async (t) => {
  const kube = fakeKube();
  seedShop(kube);
  const labels = workloadLabels({ kind: 'App', name: 'api', id: newId() });
  kube.seed({
    apiVersion: 'platform.svc/v1',
    kind: 'App',
    metadata: { name: 'api', namespace: 'shop-prod', labels },
    spec: { image: 'r.test/api:1', port: 8080, replicas: 1 },
  });
  const streams = createFairPlaces({ total: 2, perKey: 2, waitingPerKey: 0, waitingTotal: 0 });
  const api = await testApi(t, {
    routes: createAppRoutes({
      kube,
      pool: new pg.Pool(),
      clock: systemClock,
      baseUrl: 'http://console.test',
      logs: { ...createLogServices(), streams },
    }),
  });
  const open = async (method: string) => {
    const closing = new AbortController();
    const headers = { authorization: 'Bearer good' };
    const url = `${api.url}/api/v1/projects/shop/apps/api/logs?follow=true`;
    const { status } = await fetch(url, { method, headers, signal: closing.signal });
    closing.abort();
    return status;
  };
  for (const method of [...Array.from({ length: 6 }, () => 'HEAD'), 'GET']) {
    // A place is left just after the answer.
    let status = await open(method);
    while (status === 429) status = await open(method);
    t.equal(status, 200);
  }
});
