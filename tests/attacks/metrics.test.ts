import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import t from 'tap';
import { createCollector } from '../../runtime/metrics/collector.ts';
import { workloadMetrics } from '../../runtime/metrics/figures.ts';
import { MetricsUnavailable } from '../../runtime/metrics/metrics-store.ts';
import { createPrometheusStore } from '../../runtime/metrics/prometheus-store.ts';
import { namespaceQuery, workloadQuery } from '../../runtime/metrics/promql.ts';
import { recordBytes } from '../../runtime/metrics/ring-file.ts';
import { createRingStore } from '../../runtime/metrics/ring-store.ts';
import { openRing } from '../../runtime/metrics/ring.ts';
import { close, listen } from '../../runtime/process/listening.ts';
import { statSync } from 'node:fs';

const start = 1_767_225_600;

function memoryOf(namespace: string, name: string, value = 1): string {
  return `${workloadMetrics.memory}{namespace="${namespace}",kind="app",name="${name}"} ${value}\n`;
}

t.test('a tenant with thousands of workloads takes no room from another', async (t) => {
  const path = join(t.testdir(), 'metrics.ring');
  const seriesMax = 100;
  const ring = openRing({ path, seriesMax });
  t.teardown(() => ring.close());
  const collector = createCollector(ring);
  const many = Array.from({ length: 5_000 }, (_, index) => memoryOf('greedy-prod', `app-${index}`)).join('');
  for (let round = 1; round <= 20; round++) {
    // The greedy tenant comes first, and its workloads have other names in every round.
    const text = many.replaceAll('app-', `r${round}-`) + memoryOf('shop-prod', 'api', round);
    collector.add('process', text, start + round * 15);
    t.equal(ring.of('shop-prod').length, 1, `round ${round}: the other tenant keeps its series`);
  }
  t.equal(ring.stats().series, seriesMax);
  t.ok(statSync(path).size <= seriesMax * recordBytes + 1_024, 'the file does not grow');
  const store = createRingStore({ ring, now: () => start + 300 });
  const { figures } = await store.workload(
    { namespace: 'shop-prod', kind: 'app', name: 'api' },
    { from: start + 60, to: start + 300, step: 15 },
  );
  t.equal(figures.memoryBytes?.at(-1), 20);
  t.notOk(figures.memoryBytes?.includes(null), 'no value was lost');
});

t.test('a tenant that comes later gets its share of a full ring, and no more', (t) => {
  const ring = openRing({ path: join(t.testdir(), 'metrics.ring'), seriesMax: 40 });
  const collector = createCollector(ring);
  const some = (namespace: string, count: number) =>
    Array.from({ length: count }, (_, index) => memoryOf(namespace, `app-${index}`)).join('');
  collector.add('process', some('greedy-prod', 100), start);
  collector.add('process', some('greedy-prod', 100) + some('late-prod', 100) + some('small-prod', 3), start + 15);
  t.equal(ring.of('small-prod').length, 3);
  t.ok(Math.abs(ring.of('greedy-prod').length - ring.of('late-prod').length) <= 1);
  t.ok(ring.stats().refused > 0, 'what had no room is counted');
  ring.close();
  t.end();
});

t.test('odd names and lines are left out, and keep nothing else away', (t) => {
  const ring = openRing({ path: join(t.testdir(), 'metrics.ring') });
  const collector = createCollector(ring);
  const odd = [
    memoryOf('shop-prod', 'a\\nb'),
    memoryOf('shop-prod', '../x'),
    memoryOf('shop-prod', 'x'.repeat(64)),
    memoryOf('shop-prod', `x".*`),
    `${workloadMetrics.memory}{namespace="shop-prod",kind="root",name="api"} 1\n`,
    `${workloadMetrics.memory}{${'a="b",'.repeat(100_000)}} 1\n`,
    `${workloadMetrics.memory}{${'\\'.repeat(1_500)}\n`,
    `${workloadMetrics.requests}{namespace="shop-prod",kind="app",name="api",code="${'2'.repeat(1_000)}"} 1\n`,
    `${workloadMetrics.memory}{namespace="shop-prod",kind="app",name="api"} NaN\n`,
  ].join('');
  collector.add('process', odd + memoryOf('shop-prod', 'api', 7), start);
  t.same(
    ring.of('shop-prod').map(({ id }) => id.name),
    ['api'],
  );
  ring.close();
  t.end();
});

t.test('a name that is no name is in no query', (t) => {
  const window = { from: start, to: start + 60, step: 60 };
  for (const name of ['', '"} or up{a="', 'a\\', 'x.*', 'shop|other', 'Shop', 'a'.repeat(64)]) {
    t.throws(() => namespaceQuery(name), RangeError, `namespace ${name}`);
    t.throws(() => workloadQuery({ namespace: 'shop-prod', kind: 'app', name }, window), RangeError, `name ${name}`);
    const target = { namespace: 'shop-prod', kind: 'app', name: 'api', ingressServices: [`${name}"`] } as const;
    t.throws(() => workloadQuery(target, window), RangeError, `service ${name}`);
  }
  t.end();
});

t.test('a hostile or broken metrics store is bounded in time and size', async (t) => {
  const window = { from: start, to: start + 60, step: 60 };
  const target = { namespace: 'shop-prod', kind: 'app', name: 'api' } as const;
  const limits = { timeoutMs: 300, bytesMax: 100_000 };
  const endless: RequestListener = (_, response) => {
    response.writeHead(200);
    const send = () => {
      while (response.writable && response.write('x'.repeat(65_536)));
    };
    response.on('drain', send);
    send();
  };
  const cases: [string, RequestListener, RegExp][] = [
    ['silent', () => undefined, /within 0.3 seconds/],
    ['stops after the head', (_, response) => void response.writeHead(200).write('{'), /within 0.3 seconds/],
    ['endless', endless, /too large/],
    ['no JSON', (_, response) => void response.end('<html>'), /unknown form/],
    ['deep', (_, response) => void response.end('['.repeat(90_000)), /unknown form/],
    ['other JSON', (_, response) => void response.end('{"status":"success","data":{}}'), /unknown form/],
    ['refuses', (_, response) => void response.writeHead(422).end('{}'), /status 422/],
    ['redirects', (_, response) => void response.writeHead(307, { Location: 'http://127.0.0.1:1/' }).end(), /reached/],
  ];
  for (const [name, listener, message] of cases) {
    const server = createServer(listener);
    const port = await listen(server, 0, '127.0.0.1');
    const store = createPrometheusStore({ url: `http://127.0.0.1:${port}`, limits });
    const error: unknown = await store.workload(target, window).catch((failure: unknown) => failure);
    t.ok(error instanceof MetricsUnavailable, `${name}: ${String(error)}`);
    t.match(String(error), message, name);
    server.closeAllConnections();
    await close(server);
  }
});
