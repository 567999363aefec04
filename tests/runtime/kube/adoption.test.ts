import { Registry } from 'prom-client';
import t from 'tap';
import type { KubeObject, ObjectMeta } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { managedLabels } from '../../../runtime/domain/labels.ts';
import { ensureChild } from '../../../runtime/kube/children.ts';
import { createManager } from '../../../runtime/kube/manager.ts';
import { toBlocker } from '../../../runtime/kube/blocker.ts';
import { fakeClock, settle } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';

const app = { apiVersion: 'platform.svc/v1', kind: 'App', namespace: 'shop-prod', name: 'api' };
const child = { apiVersion: 'v1', kind: 'Service', namespace: 'shop-prod', name: 'api' };
const place = { name: 'api', namespace: 'shop-prod' };

/** A controller that needs one Service, blocked by a foreign one until its back-off is long. */
async function stuck(
  t: { teardown(end: () => unknown): void },
  foreign: Partial<ObjectMeta> = {},
  { viaOutcome = false, goneAtList = 0 } = {},
) {
  const kube = fakeKube();
  const clock = fakeClock();
  const passes: string[] = [];
  let lists = 0;
  kube.intercept = async ({ verb, kind }) => {
    if (verb === 'list' && kind === 'Service' && ++lists === goneAtList) await kube.delete(child);
  };
  const watches = new Set<string>();
  const watch = kube.watch.bind(kube);
  kube.watch = (kind, selection, signal) => {
    const name = selection.fieldSelector;
    if (name !== undefined) {
      watches.add(name);
      signal.addEventListener('abort', () => watches.delete(name));
    }
    return watch(kind, selection, signal);
  };
  const manager = createManager({
    kube,
    clock,
    registry: new Registry(),
    log: silentLog,
    endProcess: () => undefined,
    lease: { namespace: 'svc-system', name: 'svc-controllers', identity: 'a' },
  });
  manager.add({
    name: 'App',
    kind: kinds.App,
    owns: [kinds.Service],
    async reconcile({ object }) {
      if (!object) return undefined;
      if (viaOutcome) {
        const live = await kube.get(kinds.Service, 'api', 'shop-prod');
        passes.push(live ? 'stopped' : 'done');
        return live ? { blockers: [toBlocker(live)] } : undefined;
      }
      passes.push('stopped');
      await ensureChild(kube, object, { apiVersion: 'v1', kind: 'Service', metadata: place, spec: { ports: [80] } });
      passes[passes.length - 1] = 'done';
      return undefined;
    },
  });
  t.teardown(() => manager.stop());
  kube.seed({ ...app, metadata: { ...place, uid: 'app-uid' }, spec: {} });
  kube.seed({ ...child, metadata: { ...place, ...foreign }, spec: { ports: [1] } });
  manager.start();
  await clock.advance(60_000);
  const live = async () => {
    const service = await kube.get<KubeObject>(kinds.Service, 'api', 'shop-prod');
    if (!service) throw new Error('no service');
    return service;
  };
  const before = passes.length;
  return { kube, clock, watches, live, since: () => passes.slice(before), passes };
}

const owner = { apiVersion: 'platform.svc/v1', kind: 'App', name: 'api', uid: 'app-uid', controller: true };

t.test('a deleted blocker causes a pass at once, long before the end of the back-off', async (t) => {
  const { kube, since, watches } = await stuck(t);
  t.same(since(), []);
  await kube.delete(child);
  await settle();
  t.equal(since().at(-1), 'done');
  t.match(await kube.get(kinds.Service, 'api', 'shop-prod'), { spec: { ports: [80] } });
  await settle();
  t.same([...watches], [], 'and nothing is watched any longer');
});

t.test('a restored label causes a pass at once', async (t) => {
  const { kube, since, live } = await stuck(t, { ownerReferences: [owner] });
  const object = await live();
  await kube.replace({ ...object, metadata: { ...object.metadata, labels: managedLabels() } });
  await settle();
  t.equal(since().at(-1), 'done');
});

t.test('our label alone is not ownership: the owner reference must match as well', async (t) => {
  const { kube, since, live } = await stuck(t, { labels: managedLabels() });
  t.same((await live()).spec, { ports: [1] }, 'it is not changed');
  const object = await live();
  await kube.replace({ ...object, metadata: { ...object.metadata, ownerReferences: [owner] } });
  await settle();
  t.equal(since().at(-1), 'done');
});

t.test('changes by the blocker’s own controller cause no pass', async (t) => {
  const { kube, since, live } = await stuck(t);
  for (const port of [2, 3, 4]) {
    const object = await live();
    await kube.replace({ ...object, spec: { ports: [port] } });
    await kube.replaceStatus({ ...(await live()), status: { port } });
    await settle();
  }
  t.same(since(), []);
});

t.test('a change of the spec restarts the back-off, one of the status does not', async (t) => {
  const { kube, clock, since } = await stuck(t);
  await kube.mergePatch(app, { status: { phase: 'failed' } }, 'status');
  await clock.advance(1_000);
  t.equal(since().length, 1, 'a pass, then the long wait again');
  await kube.mergePatch(app, { spec: { port: 1 } });
  await clock.advance(1_000);
  t.ok(since().length >= 7, `${since().length} passes`);
});

t.test('a blocker of a part of a pass is watched as well', async (t) => {
  const { kube, since } = await stuck(t, {}, { viaOutcome: true });
  t.same(since(), []);
  await kube.delete(child);
  await settle();
  t.same(since(), ['done']);
});

t.test('a blocker that is deleted between the pass and its watch is noticed by the first list', async (t) => {
  // The first list contains the platform's own objects.
  const { passes } = await stuck(t, {}, { goneAtList: 2 });
  t.same(passes, ['stopped', 'done', 'done'], 'no back-off, and one pass for the new child');
});
