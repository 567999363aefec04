import t, { type Test } from 'tap';
import { componentLabels } from '../../../infra/manifests/platform/object.ts';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { createInformers } from '../../../runtime/kube/informers.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import { createGateStandby, type KubeService } from '../../../workers/controllers/gate-standby.ts';
import { fakeClock, settle } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';

const namespace = 'svc-system';
const checkers = { app: 'svc-authz' };
const interceptors = { app: 'svc-interceptor' };

function pod(name: string, ready: boolean, more: { deleting?: boolean; app?: string } = {}) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      labels: componentLabels(more.app ?? 'svc-authz'),
      ...(more.deleting && { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['test'] }),
    },
    spec: { containers: [] },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  };
}

async function createWorld(t: Test, pods: ReturnType<typeof pod>[], selector: Record<string, string> = checkers) {
  const kube = fakeKube();
  const clock = fakeClock();
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'svc-authz', namespace, labels: checkers },
    spec: { selector, ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
  };
  const other = { ...service, metadata: { ...service.metadata, name: 'other' } };
  kube.seed(service, other, ...pods);
  const informers = createInformers({ kube, clock, log: silentLog });
  const selection = { namespace, labelSelector: 'app=svc-authz' };
  const standby = createGateStandby({
    kube,
    checkers: informers.of<Pod>(kinds.Pod, selection),
    services: informers.of<KubeService>(kinds.Service, selection),
    clock,
    log: silentLog,
  });
  informers.start();
  await informers.whenSynced();
  standby.start();
  t.teardown(async () => {
    await standby.stop();
    await informers.stop();
  });
  await settle();
  const selectors = () => {
    const services = kube.all<KubeService>(kinds.Service);
    return Object.fromEntries(services.map(({ metadata, spec }) => [metadata.name, spec.selector]));
  };
  const put = async (changed: ReturnType<typeof pod>) => {
    const name = changed.metadata.name;
    const live =
      kube.all<Pod>(kinds.Pod).find(({ metadata }) => metadata.name === name) ?? (await kube.create(changed));
    await kube.replaceStatus({ ...live, status: changed.status } as Stored<Pod>);
    await settle();
  };
  const writes = () => kube.calls.filter(({ verb, kind }) => verb === 'replace' && kind === 'Service').length;
  return { kube, clock, standby, selectors, put, writes };
}

t.test('the Service leads to the interceptors while no checker is ready, and back once one is', async (t) => {
  const world = await createWorld(t, [pod('a', true), pod('b', true), pod('i', true, { app: 'svc-interceptor' })]);
  t.equal(world.writes(), 0);
  await world.put(pod('a', false));
  t.same(world.selectors()['svc-authz'], checkers, 'one of two is enough');
  t.equal(world.writes(), 0);
  await world.put(pod('b', false));
  t.same(world.selectors()['svc-authz'], interceptors);
  t.same(world.selectors()['other'], checkers, 'no other Service changes');
  await world.put(pod('c', true));
  t.same(world.selectors()['svc-authz'], checkers);
  t.equal(world.writes(), 2);
  await world.kube.delete({ apiVersion: 'v1', kind: 'Pod', name: 'c', namespace });
  await settle();
  t.same(world.selectors()['svc-authz'], interceptors, 'a deleted checker answers nothing');
  const service = world.kube.all<KubeService>(kinds.Service).find(({ metadata }) => metadata.name === 'svc-authz');
  t.match(service?.spec, { ports: [{ port: 80, targetPort: 'http' }] }, 'the rest is unchanged');
});

t.test('a terminating checker that is still ready counts, as in kube-proxy', async (t) => {
  const world = await createWorld(t, [pod('a', true, { deleting: true })]);
  t.same(world.selectors()['svc-authz'], checkers);
  await world.put(pod('a', false, { deleting: true }));
  t.same(world.selectors()['svc-authz'], interceptors);
});

t.test('a new leader corrects what its predecessor left, and what others write', async (t) => {
  const world = await createWorld(t, [pod('a', true)], interceptors);
  t.same(world.selectors()['svc-authz'], checkers);
  const [live] = world.kube.all<KubeService>(kinds.Service).filter(({ metadata }) => metadata.name === 'svc-authz');
  if (!live) return;
  await world.kube.replace({ ...live, spec: { ...live.spec, selector: { ...checkers, pod: 'mine' } } });
  await settle();
  t.same(world.selectors()['svc-authz'], checkers);
});

t.test('a refused write is repeated', async (t) => {
  const world = await createWorld(t, [pod('a', true)]);
  let refusals = 2;
  world.kube.intercept = ({ verb, kind }) => {
    if (verb === 'replace' && kind === 'Service' && refusals-- > 0) throw new KubeError(500, 'InternalError', 'no');
  };
  await world.put(pod('a', false));
  t.same(world.selectors()['svc-authz'], checkers);
  await world.clock.advance(1_000);
  await world.clock.advance(1_000);
  t.same(world.selectors()['svc-authz'], interceptors);
});

t.test('after a stop, nothing is written', async (t) => {
  const world = await createWorld(t, [pod('a', true)]);
  await world.standby.stop();
  await world.put(pod('a', false));
  t.equal(world.writes(), 0);
});
