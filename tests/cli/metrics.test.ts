import t from 'tap';
import { sparkline } from '../../cli/sparkline.ts';
import { formatUnits, sizeText } from '../../cli/units.ts';
import { world } from './world.ts';

const metrics = {
  name: 'api',
  from: '2026-11-21T11:00:00.000Z',
  to: '2026-11-21T11:05:00.000Z',
  stepSeconds: 60,
  figures: {
    requestsPerSecond: [null, 2, 4, 0, 1, 12.345],
    errorsPerSecond: [null, 0, 0, 0, 0, 0],
    latencyP50Seconds: [null, 0.012, 0.02, null, 0.01, 1.25],
    memoryBytes: [67_108_864, 67_108_864, 67_108_864, 67_108_864, 67_108_864, 134_217_728],
    cpuCores: [null, null, null, null, null, null],
  },
  deployments: [{ id: 'd1', revision: 7, state: 'succeeded', at: '2026-11-21T11:02:00.000Z' }],
};

t.test('the figures of an app are lines with a chart, and its deployments are said', async (t) => {
  const { run, routes, seen } = await world(t);
  routes['GET /api/v1/projects/shop/apps/api/metrics'] = { body: metrics };
  const ran = await run(['app', 'metrics', 'api', '--project', 'shop', '--range', '6h', '--step', '5m']);
  t.equal(ran.code, 0, ran.stderr);
  t.match(seen.at(-1)?.query, { range: '6h', step: '300' });
  const lines = ran.stdout.split('\n').map((line) => line.trimEnd());
  t.same(lines.slice(0, 2), [
    'FIGURE        NOW      LOW    HIGH     CHART',
    'requests      12.3/s   0/s    12.3/s    ▂▃▁▂█',
  ]);
  t.match(ran.stdout, /^latency p50 +1.25s +10ms +1.25s/m);
  t.match(ran.stdout, /^cpu +- +- +-/m, 'a figure without values is a dash');
  t.match(ran.stdout, /^memory +128Mi +64Mi +128Mi +▅▅▅▅▅█/m);
  t.match(ran.stderr, /deployment 7 succeeded at 2026-11-21T11:02:00.000Z/);
  const json = await run(['app', 'metrics', 'api', '--project', 'shop', '-o', 'json']);
  t.same(JSON.parse(json.stdout), metrics);
});

t.test('why figures are missing is said', async (t) => {
  const { run, routes } = await world(t);
  const notes = ['CPU and memory are not collected: the platform does not get the metrics API of the cluster.'];
  routes['GET /api/v1/projects/shop/apps/api/metrics'] = { body: { ...metrics, notes } };
  const ran = await run(['app', 'metrics', 'api', '--project', 'shop']);
  t.equal(ran.code, 0, ran.stderr);
  t.match(ran.stderr, notes[0]);
  t.same(JSON.parse((await run(['app', 'metrics', 'api', '--project', 'shop', '-o', 'json'])).stdout).notes, notes);
});

t.test('every kind of workload has the command', async (t) => {
  const { run, routes } = await world(t);
  const { deployments: _, ...plain } = metrics;
  for (const kind of ['function', 'job', 'service']) {
    routes[`GET /api/v1/projects/shop/${kind}s/api/metrics`] = { body: plain };
    t.equal((await run([kind, 'metrics', 'api', '--project', 'shop'])).code, 0, kind);
  }
  const refused = await run(['app', 'metrics', 'api', '--project', 'shop', '--range', '7d']);
  t.equal(refused.code, 2);
  t.match(refused.stderr, /1h, 6h, 24h/);
});

t.test('the pods of an app are listed with the reason of a failure', async (t) => {
  const { run, routes } = await world(t);
  const items = [
    ...[{ name: 'api-2', status: 'failing', revision: 8, restarts: 4, reason: 'CrashLoopBackOff', exitCode: 7 }],
    ...[{ name: 'api-1', status: 'ready', revision: 7, restarts: 0 }],
  ].map((pod) => ({ ...pod, createdAt: '2026-01-01T00:00:00.000Z' }));
  routes['GET /api/v1/projects/shop/apps/api/pods'] = { body: { items } };
  routes['GET /api/v1/projects/shop/functions/hello/pods'] = { body: { items: [] } };
  const ran = await run(['app', 'pods', 'api', '--project', 'shop']);
  t.equal(ran.code, 0, ran.stderr);
  t.match(ran.stdout, /^POD +STATUS +REVISION +RESTARTS +CREATED +REASON/);
  t.match(ran.stdout, /^api-2 +failing +8 +4 .* CrashLoopBackOff, exit code 7$/m);
  t.equal((await run(['app', 'pods', 'api', '--project', 'shop', '-o', 'name'])).stdout, 'api-2\napi-1\n');
  t.equal((await run(['function', 'pods', 'hello', '--project', 'shop'])).code, 0);
});

t.test('without a metrics store, the command says what to do', async (t) => {
  const { run, routes } = await world(t);
  const body = { code: 'metrics_unavailable', message: 'The installation has no metrics store.' };
  routes['GET /api/v1/projects/shop/apps/api/metrics'] = { status: 503, body };
  const ran = await run(['app', 'metrics', 'api', '--project', 'shop']);
  t.not(ran.code, 0);
  t.match(ran.stderr, /no metrics store/);
});

const item = {
  kind: 'app',
  name: 'api',
  cpuCores: 0.25,
  memoryBytes: 64 * 2 ** 20,
  requestsPerSecond: 3.21,
  errorsPerSecond: 0,
  latencyP95Seconds: 0.034,
  replicas: 2,
  readyReplicas: 1,
  restarts: 4,
};

t.test('top sorts, and says what is not known', async (t) => {
  const { run, routes } = await world(t);
  const small = { ...item, kind: 'function', name: 'hello', cpuCores: null, memoryBytes: 1, requestsPerSecond: 9 };
  const at = '2026-11-21T11:59:45.000Z';
  routes['GET /api/v1/projects/shop/top'] = {
    body: { at, items: [item, small], omitted: 3, metricsUnavailable: 'The metrics store cannot be reached.' },
  };
  const ran = await run(['top', '--project', 'shop']);
  t.match(ran.stdout, /^app +api +250m +64Mi +3.21 +0 +34ms +1\/2 +4/m);
  t.match(ran.stdout, /^function +hello +- +1 +9 /m);
  t.match(ran.stderr, /3 workloads that use less are not shown/);
  t.match(ran.stderr, /only pods are shown: The metrics store cannot be reached/);
  t.equal(
    (await run(['top', '--project', 'shop', '--sort', 'requests', '-o', 'name'])).stdout,
    'function/hello\napp/api\n',
  );
  t.equal(
    (await run(['top', '--project', 'shop', '--sort', 'name', '-o', 'name'])).stdout,
    'app/api\nfunction/hello\n',
  );
});

t.test('a chart has at most 60 bars, and shows peaks', (t) => {
  const values = Array.from({ length: 1_000 }, (_, index) => (index === 500 ? 10 : 0));
  t.equal(sparkline(values).length, 59);
  t.equal(sparkline(values).split('█').length, 2);
  t.equal(sparkline([0, 0]), '▁▁');
  t.equal(sparkline([]), '');
  t.end();
});

t.test('bytes have a unit', (t) => {
  t.equal(formatUnits(0), '0');
  t.equal(formatUnits(1536), '1.5Ki');
  t.equal(formatUnits(64 * 2 ** 20), '64Mi');
  t.equal(formatUnits(2.25 * 2 ** 30), '2.3Gi');
  t.equal(sizeText(500), '500 B');
  t.equal(sizeText(1536), '1.5 KiB');
  t.equal(sizeText(12.3 * 2 ** 20), '12.3 MiB');
  t.end();
});
