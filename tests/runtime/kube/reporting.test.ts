import t from 'tap';
import type { Condition, KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { childrenAdoptedState, mergeConditions, setCondition } from '../../../runtime/kube/conditions.ts';
import { resolveEnvironment } from '../../../runtime/kube/environments.ts';
import { createEventRecorder } from '../../../runtime/kube/events.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../../runtime/kube/status.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { readyProject } from '../../support/objects.ts';

const noon = new Date('2026-01-01T12:00:00.500Z');
const later = new Date('2026-01-01T13:00:00Z');

t.test('a condition changes its time only when its status changes', async (t) => {
  const first = setCondition(undefined, childrenAdoptedState(1), noon);
  t.match(first, [{ type: 'ChildrenAdopted', status: 'True', lastTransitionTime: '2026-01-01T12:00:00Z' }]);
  const same = setCondition(first, { ...childrenAdoptedState(2), message: 'other words' }, later);
  t.match(same, [{ message: 'other words', observedGeneration: 2, lastTransitionTime: '2026-01-01T12:00:00Z' }]);
  const other: Condition = { type: 'Z', status: 'True', reason: 'R', message: '', lastTransitionTime: 'x' };
  const failed = mergeConditions([other, ...same], [childrenAdoptedState(2, 'Deployment "api" is not ours')], later);
  t.equal(failed[0], other);
  t.match(failed[1], {
    status: 'False',
    reason: 'ChildReconcileFailed',
    message: 'Deployment "api" is not ours',
    lastTransitionTime: '2026-01-01T13:00:00Z',
  });
  t.equal(first[0]?.status, 'True', 'the given list is not changed');
});

t.test('a status is written once, to the version that was read', async (t) => {
  const kube = fakeKube();
  kube.seed(...readyProject('shop'));
  const read = await kube.get(kinds.Project, 'shop');
  if (!read) throw new Error('no project');
  const written = await writeStatus(kube, read, { phase: 'ready', message: undefined });
  t.same(written.status, { phase: 'ready' });
  const calls = kube.calls.length;
  t.equal(await writeStatus(kube, written, { phase: 'ready' }), written);
  t.equal(kube.calls.length, calls);
  await t.rejects(writeStatus(kube, read, { phase: 'failed' }), { status: 409 } as unknown as Error);
});

t.test('the same Event increments one object, once a minute at most', async (t) => {
  const kube = fakeKube();
  const clock = fakeClock();
  kube.seed({ apiVersion: 'platform.svc/v1', kind: 'App', metadata: { name: 'api', namespace: 'shop-prod' } });
  const app = await kube.get(kinds.App, 'api', 'shop-prod');
  if (!app) throw new Error('no app');
  const record = (recorder = createEventRecorder({ kube, component: 'svc-controllers', clock, log: silentLog })) => ({
    recorder,
    fail: (message: string) => recorder.record(app, { type: 'Warning', reason: 'ReconcileFailed', message }),
  });
  const { fail } = record();
  await fail('x');
  await fail('x');
  await fail('y'.repeat(5_000));
  t.equal(kube.all(kinds.Event).length, 2);
  await clock.advance(61_000);
  await fail('x');
  // Another process, or the same after a restart.
  await record().fail('x');
  const events = kube.all<KubeObject & { count: number; message: string }>(kinds.Event);
  t.same(new Set(events.map(({ count }) => count)), new Set([1, 3]));
  t.ok(events.every(({ message }) => message.length <= 1024));
  t.match(events[0], {
    metadata: { namespace: 'shop-prod', labels: { 'app.kubernetes.io/managed-by': 'kipper' } },
    involvedObject: { kind: 'App', name: 'api', namespace: 'shop-prod', uid: app.metadata.uid },
    type: 'Warning',
    reason: 'ReconcileFailed',
    source: { component: 'svc-controllers' },
  });
  kube.intercept = () => {
    throw new KubeError(403, 'NamespaceTerminating', 'x');
  };
  await clock.advance(61_000);
  await t.resolves(fail('x'), 'an Event that cannot be written is not an error');
});

t.test('the environment that a request names', async (t) => {
  const kube = fakeKube();
  kube.seed(...readyProject('one'), ...readyProject('two', ['prod', 'test']));
  kube.seed({
    apiVersion: 'platform.svc/v1',
    kind: 'Project',
    metadata: { name: 'new' },
    spec: { environments: [{ name: 'prod', id: 'e' }] },
  });
  t.match(await resolveEnvironment(kube, 'one'), {
    project: 'one',
    environment: 'prod',
    namespace: 'one-prod',
    ready: true,
    environmentId: /^[0-9a-f-]{36}$/,
  });
  t.match(await resolveEnvironment(kube, 'two', 'test'), { environment: 'test', namespace: 'two-test' });
  t.match(await resolveEnvironment(kube, 'new'), { ready: false });
  const refusals: [Promise<unknown>, object][] = [
    [resolveEnvironment(kube, 'none'), { code: 'not_found', message: /no project "none"/ }],
    [resolveEnvironment(kube, 'one', 'test'), { code: 'not_found', message: /it has prod/ }],
    [
      resolveEnvironment(kube, 'two'),
      { code: 'environment_required', message: /prod, test/, details: { environments: ['prod', 'test'] } },
    ],
  ];
  for (const [refused, expected] of refusals) t.match(await refused.catch((error: unknown) => error), expected);
});
