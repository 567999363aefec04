import { Registry } from 'prom-client';
import t from 'tap';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { createInformers } from '../../../runtime/kube/informers.ts';
import { createManager } from '../../../runtime/kube/manager.ts';
import { createRequestMetrics } from '../../../runtime/kube/request-metrics.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';

const app = (name: string, labels: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'platform.svc/v1',
  kind: 'App',
  metadata: { name, namespace: 'shop-prod', labels },
});

function setUp(t: { teardown(end: () => unknown): void }) {
  const kube = fakeKube();
  const clock = fakeClock();
  const manager = createManager({
    kube,
    clock,
    log: silentLog,
    registry: new Registry(),
    endProcess: () => undefined,
    lease: { namespace: 'svc-system', name: 'svc-controllers', identity: 'a' },
  });
  t.teardown(() => manager.stop());
  return { kube, clock, manager };
}

t.test('a controller that cannot register is reported, and the others work', async (t) => {
  const { kube, clock, manager } = setUp(t);
  const passes: string[] = [];
  const pass = async ({ name }: { name: string }) => void passes.push(name);
  manager.add({ name: 'App', kind: kinds.App, reconcile: pass });
  const missing = { kind: undefined as never, keysOf: () => [] };
  manager.add({ name: 'Function', kind: kinds.Function, watches: [missing], reconcile: pass });
  kube.seed(app('one'));
  manager.start();
  await clock.advance(5_000);
  t.same(passes, ['one']);
  t.match(manager.report(), {
    healthy: false,
    managerStarted: true,
    cacheSynced: true,
    controllers: [
      { name: 'App', registered: true },
      { name: 'Function', registered: false },
    ],
  });
});

t.test('a watch that is silent past its bound makes the report unhealthy until its next event', async (t) => {
  const { kube, clock, manager } = setUp(t);
  manager.add({ name: 'App', kind: kinds.App, reconcile: async () => undefined });
  manager.add({ name: 'Function', kind: kinds.Function, reconcile: async () => undefined });
  manager.start();
  await clock.advance(5_000);
  t.match(manager.report(), { healthy: true, managerStarted: true, cacheSynced: true });
  kube.intercept = ({ verb, kind }) => {
    if (verb === 'list' && kind === 'Function') throw new Error('unreachable');
  };
  await clock.advance(290_000);
  t.match(manager.report(), { healthy: true });
  await clock.advance(20_000);
  t.match(manager.report(), { healthy: false, managerStarted: true, cacheSynced: false });
  kube.intercept = undefined;
  await clock.advance(60_000);
  t.match(manager.report(), { healthy: true, cacheSynced: true });
});

t.test('watched objects are read without a request, but only where the copy is complete', async (t) => {
  const kube = fakeKube();
  const clock = fakeClock();
  const informers = createInformers({ kube, clock, log: silentLog });
  t.teardown(() => informers.stop());
  const { cache } = informers;
  kube.seed(app('one', { team: 'blue', tier: 'front' }), app('two', { team: 'red', tier: 'front' }));
  kube.seed(app('three', { team: 'green', 'platform.svc/id': 'id-3' }), app('four', { team: 'green' }));
  for (const team of ['blue', 'green']) informers.of(kinds.App, { labelSelector: `team=${team}` });
  t.equal(cache.get(kinds.App, 'one', 'shop-prod'), undefined, 'not before it is synced');
  informers.start();
  await clock.advance(1_000);
  const calls = kube.calls.length;
  t.equal(cache.get(kinds.App, 'one', 'shop-prod')?.metadata.name, 'one');
  t.equal(cache.get(kinds.App, 'two', 'shop-prod'), undefined);
  const names = (labels: Record<string, string>, namespace?: string) =>
    cache.list(kinds.App, labels, namespace)?.map(({ metadata }) => metadata.name);
  t.same(names({ team: 'blue', tier: 'front' }), ['one']);
  t.same(names({ team: 'blue' }, 'blog-prod'), []);
  t.same(names({ team: 'green', 'platform.svc/id': 'id-3' }), ['three']);
  t.same(names({ team: 'green', 'platform.svc/id': 'id-4' }), []);
  t.same(names({ team: 'green', 'platform.svc/id': 'id-3' }, 'shop-prod'), ['three']);
  t.same(names({ team: 'green' })?.sort(), ['four', 'three']);
  t.equal(names({ tier: 'front' }), undefined, 'the copy has only those of one team');
  t.equal(names({ team: 'red' }), undefined);
  t.equal(cache.list(kinds.Function, {}), undefined);
  t.equal(kube.calls.length, calls);
});

t.test('a watch that lasts long is checked by a list from time to time', async (t) => {
  const kube = fakeKube();
  const clock = fakeClock();
  // It loses every event, and ends every five minutes as the API server's does.
  kube.watch = async function* (_kind, { resourceVersion }, signal) {
    for (let minutes = 0; minutes < 5 && !signal.aborted; minutes++) {
      await clock.sleep(60_000, signal).catch(() => undefined);
      const metadata = { name: '', resourceVersion };
      yield { type: 'BOOKMARK', object: { apiVersion: 'v1', kind: 'Pod', metadata } as never };
    }
  };
  const informers = createInformers({ kube, clock, log: silentLog, relistMs: 600_000 });
  t.teardown(() => informers.stop());
  const apps = informers.of(kinds.App);
  informers.start();
  await clock.advance(1_000);
  await kube.create(app('one'));
  await clock.advance(540_000);
  t.same(apps.list(), []);
  await clock.advance(360_000);
  t.same(
    apps.list().map(({ metadata }) => metadata.name),
    ['one'],
  );
});

t.test('requests are counted by kind of object, never by name', async (t) => {
  const registry = new Registry();
  const metrics = createRequestMetrics(registry);
  const paths: [string, string, number][] = [
    ['GET', '/api/v1/namespaces', 200],
    ['GET', '/api/v1/namespaces/shop-prod', 404],
    ['GET', '/api/v1/namespaces/shop-prod/pods', 200],
    ['PUT', '/apis/platform.svc/v1/namespaces/shop-prod/apps/api/status', 409],
    ['POST', '/apis/platform.svc/v1/projects', 201],
    ['PUT', '/apis/apps/v1/namespaces/shop-prod/deployments/api/scale', 0],
  ];
  for (const [method, path, code] of paths) metrics.count(method, path, code);
  const { values } = (await registry.getSingleMetric('rest_client_requests_total')?.get()) ?? { values: [] };
  t.same(
    values.map(({ labels }) => `${labels['method']} ${labels['resource']} ${labels['code']}`),
    [
      'GET namespaces 200',
      'GET namespaces 404',
      'GET pods 200',
      'PUT apps/status 409',
      'POST projects 201',
      'PUT deployments/scale <error>',
    ],
  );
});
