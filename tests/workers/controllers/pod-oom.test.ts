import t from 'tap';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import type { ContainerStatus } from '../../../runtime/contracts/pod.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { podLabels, workloadLabels } from '../../../runtime/domain/labels.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import { nextLimit, podOomController } from '../../../workers/controllers/pod-oom.ts';
import { createEventRecorder } from '../../../runtime/kube/events.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';

const namespace = 'shop-prod';
const id = '019a0000-0000-7000-8000-0000000000a1';
const workload = { kind: 'App' as const, name: 'api', id };
const killed = (finishedAt: string) => ({ terminated: { exitCode: 137, reason: 'OOMKilled', finishedAt } });
const container = (state: Partial<ContainerStatus>, name = 'app') => ({ name, ready: true, restartCount: 1, ...state });

function createWorld() {
  const kube = fakeKube();
  const clock = fakeClock();
  kube.seed({
    apiVersion: 'platform.svc/v1',
    kind: 'App',
    metadata: { name: 'api', namespace, labels: workloadLabels(workload) },
    spec: { image: 'x' },
    status: { phase: 'running', conditions: [{ type: 'ChildrenAdopted', status: 'True' }] },
  });
  const controller = podOomController({
    kube,
    events: createEventRecorder({ kube, component: 'svc-controllers', clock, log: silentLog }),
  });
  const seed = (
    name: string,
    statuses: ContainerStatus[],
    { limit, of = workload }: { limit?: string; of?: typeof workload } = {},
  ) =>
    kube.seed({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace, labels: podLabels(of, 'serve') },
      spec: {
        containers: ['app', 'sidecar'].map((part) => ({
          name: part,
          ...(limit !== undefined && { resources: { limits: { memory: limit } } }),
        })),
      },
      status: { phase: 'Running', containerStatuses: statuses },
    });
  const pass = async (name: string) => {
    const object = kube.all<Pod>(kinds.Pod).find(({ metadata }) => metadata.name === name);
    await controller.reconcile({ namespace, name, object, log: silentLog, signal: new AbortController().signal });
  };
  const status = () => {
    const [app] = kube.all<App>(kinds.App);
    return app?.status ?? {};
  };
  const conditions = () => status().conditions ?? [];
  const events = () =>
    kube
      .all<KubeObject & { count: number; message: string }>(kinds.Event)
      .map(({ message, count }) => ({ message, count }));
  const writes = () => kube.calls.filter(({ verb }) => verb !== 'get' && verb !== 'list').length;
  return { kube, clock, seed, pass, status, conditions, events, writes };
}

t.test('a kill for memory is recorded once, in the status and as an Event, with a suggested limit', async (t) => {
  const world = createWorld();
  world.seed('api-1', [container({ lastState: killed('2026-11-21T12:00:00Z') })], { limit: '256Mi' });
  await world.pass('api-1');
  const message =
    'The container "app" of pod api-1 was killed at 2026-11-21T12:00:00Z: it used more memory than its limit of 256Mi; try 384Mi.';
  t.match(world.conditions(), [
    { type: 'ChildrenAdopted' },
    { type: 'OutOfMemory', status: 'True', reason: 'OOMKilled', message, lastTransitionTime: '2026-11-21T12:00:00Z' },
  ]);
  t.equal(world.status().phase, 'running', 'the rest of the status is unchanged');
  t.same(world.events(), [{ message, count: 1 }]);
  await world.clock.advance(3_600_000);
  const before = world.writes();
  await world.pass('api-1');
  t.equal(world.writes(), before, 'the same kill is not recorded again');
});

t.test("every kill counts, in any pod and container, and the newest is in the workload's status", async (t) => {
  const world = createWorld();
  world.seed('api-1', [
    container({ lastState: killed('2026-11-21T12:00:00Z'), state: killed('2026-11-21T12:05:00Z') }),
    container({ lastState: killed('2026-11-21T12:00:00Z') }, 'sidecar'),
  ]);
  world.seed('api-2', [container({ lastState: killed('2026-11-21T12:03:00Z') })]);
  await world.pass('api-2');
  t.equal(world.events().length, 4);
  t.match(world.conditions()[1], {
    lastTransitionTime: '2026-11-21T12:05:00Z',
    message: /pod api-1 was killed at .*12:05/,
  });
  t.match(world.conditions()[1]?.message, /no memory limit, and the node ran out/);
  await world.pass('api-1');
  t.equal(world.events().length, 4);
  world.seed('api-3', [container({ lastState: killed('2026-11-21T12:06:00Z') })]);
  await world.pass('api-3');
  t.equal(world.events().length, 5);
  t.match(world.conditions()[1], { lastTransitionTime: '2026-11-21T12:06:00Z' });
  t.equal(world.conditions().length, 2);
});

t.test('other ends, and foreign pods, do not count as kills for memory', async (t) => {
  const world = createWorld();
  const crashed = { terminated: { exitCode: 1, reason: 'Error', finishedAt: '2026-11-21T12:00:00Z' } };
  world.seed('api-1', [container({ lastState: crashed })]);
  // A pod of an earlier app with the same name.
  const former = { ...workload, id: '019a0000-0000-7000-8000-0000000000a2' };
  world.seed('api-2', [container({ lastState: killed('2026-11-21T12:00:00Z') })], { of: former });
  const before = world.writes();
  for (const name of ['api-1', 'api-2', 'api-none']) await world.pass(name);
  t.equal(world.writes(), before);
});

t.test('a crash between Event and status leaves one Event, and the next pass completes the status', async (t) => {
  const world = createWorld();
  world.seed('api-1', [container({ lastState: killed('2026-11-21T12:00:00Z') })]);
  world.kube.intercept = ({ verb }) => {
    if (verb === 'replaceStatus') throw new Error('the process has ended');
  };
  await t.rejects(world.pass('api-1'));
  world.kube.intercept = undefined;
  await world.pass('api-1');
  t.equal(world.events().length, 1);
  t.equal(world.conditions().length, 2);
});

t.test('the suggested limit is one and a half times the current one, in steps of 64Mi', (t) => {
  t.same(['32Mi', '64Mi', '256Mi', '1Gi', '100M', 'much'].map(nextLimit), [
    '64Mi',
    '128Mi',
    '384Mi',
    '1536Mi',
    '192Mi',
    undefined,
  ]);
  t.end();
});
