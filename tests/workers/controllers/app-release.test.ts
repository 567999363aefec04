import t from 'tap';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import type { ReleaseStatus } from '../../../runtime/contracts/resources/app.ts';
import { releaseAnnotation } from '../../../runtime/domain/labels.ts';
import { othersGoneInMs, releaseStatus, type Deployment } from '../../../workers/controllers/app-release.ts';

const release = { generation: 2, deploymentId: '01890a5d-ac96-774b-bcce-b302099a8057', image: 'x:2' };
const app = { spec: { image: 'x:1', port: 8080, replicas: 1, release } };
const now = new Date('2026-01-01T00:01:00Z');

function pod(generation: number, told?: string): Stored<Pod> {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...{ name: `p${generation}`, uid: 'u', resourceVersion: '1' },
      annotations: { [releaseAnnotation]: String(generation) },
      ...(told !== undefined && {
        deletionTimestamp: new Date(Date.parse(told) + 30_000).toISOString(),
        deletionGracePeriodSeconds: 30,
      }),
    },
    spec: { containers: [{ name: 'app' }] },
  };
}

function deployment(change: Partial<NonNullable<Deployment['status']>> = {}, generation = 2): Stored<Deployment> {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'api', uid: 'u', resourceVersion: '1', generation: 5 },
    spec: { replicas: 1, template: { metadata: { annotations: { [releaseAnnotation]: String(generation) } } } },
    status: {
      ...{ observedGeneration: 5, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 },
      ...change,
    },
  };
}

t.test('a release is available once its pods are ready and no request reaches another', (t) => {
  const phase = (...args: [Stored<Deployment> | undefined, Stored<Pod>[]]) => releaseStatus(app, ...args, now)?.phase;
  t.equal(phase(deployment(), [pod(2)]), 'available');
  t.equal(phase(deployment(), [pod(2), pod(1, '2026-01-01T00:00:50Z')]), 'available', 'an old pod long told to go');
  const evicted: Stored<Pod> = { ...pod(1), status: { phase: 'Failed', reason: 'Evicted' } };
  t.equal(phase(deployment(), [pod(2), evicted]), 'available', 'an old pod that nobody deletes serves nothing');
  const waiting: [string, Stored<Deployment> | undefined, Stored<Pod>[]][] = [
    ['no Deployment yet', undefined, []],
    ['the Deployment is of the release before', deployment({}, 1), [pod(1)]],
    ['its controller has not seen the change', deployment({ observedGeneration: 4 }), [pod(2)]],
    ['a new pod is not ready', deployment({ availableReplicas: 0 }), [pod(2)]],
    ['an old pod is counted', deployment({ replicas: 2 }), [pod(2), pod(1)]],
    ['an old pod was told to go a moment ago', deployment(), [pod(2), pod(1, '2026-01-01T00:00:58Z')]],
    ['an old pod was not told yet', deployment(), [pod(2), pod(1)]],
  ];
  for (const [why, ...seen] of waiting) t.equal(phase(...seen), 'progressing', why);
  t.end();
});

t.test('what was available stays so, for this release only', (t) => {
  const status = { release: { generation: 2, deploymentId: release.deploymentId, phase: 'available' as const } };
  t.equal(releaseStatus({ ...app, status }, deployment({ availableReplicas: 0 }), [], now)?.phase, 'available');
  const older = { release: { ...status.release, generation: 1 } };
  t.equal(releaseStatus({ ...app, status: older }, undefined, [], now)?.phase, 'progressing');
  t.equal(releaseStatus({ spec: { image: 'x:1', port: 8080, replicas: 1 } }, undefined, [], now), undefined);
  t.end();
});

t.test('other pods of the same release are waited for as well', (t) => {
  const withMemory = (memory: string, status: Partial<NonNullable<Deployment['status']>> = {}) => {
    const made = deployment(status);
    const template = { ...made.spec.template, spec: { containers: [{ resources: { limits: { memory } } }] } };
    return { ...made, spec: { ...made.spec, template } };
  };
  const see = (before: ReleaseStatus | undefined, live: Stored<Deployment>) =>
    releaseStatus({ ...app, ...(before && { status: { release: before } }) }, live, [pod(2)], now);
  const first = see(undefined, withMemory('1Gi'));
  t.match(first, { phase: 'available', template: /^[0-9a-f]{16}$/ });
  t.same(see(first, withMemory('1Gi', { availableReplicas: 0 })), first, 'a pod that fails is no other pod');
  const rolling = see(first, withMemory('2Gi', { updatedReplicas: 0 }));
  t.match(rolling, { phase: 'progressing' });
  t.not(rolling?.template, first?.template);
  t.match(see(rolling, withMemory('2Gi', { replicas: 2 })), { phase: 'progressing' });
  t.match(see(rolling, withMemory('2Gi')), { phase: 'available', template: rolling?.template });
  const stuck = { conditions: [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }] };
  t.match(see(rolling, withMemory('2Gi', { ...stuck, availableReplicas: 0 })), { phase: 'failed' });
  t.match(see(first, withMemory('1Gi', { updatedReplicas: 0 })), { phase: 'available' }, 'taken back');
  const older = { generation: 2, deploymentId: release.deploymentId, phase: 'available' as const };
  t.match(
    see(older, withMemory('1Gi', { availableReplicas: 0 })),
    { phase: 'available', template: first?.template },
    'what an older version of the platform reported still counts',
  );
  t.end();
});

t.test('pods that are refused say why', (t) => {
  const refused = deployment({
    ...{ availableReplicas: 0, updatedReplicas: 0, replicas: 0 },
    conditions: [
      { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' },
      { type: 'ReplicaFailure', status: 'True', message: 'pods "api-1" is forbidden: exceeded quota: svc-environment' },
    ],
  });
  t.match(releaseStatus(app, refused, [], now), { phase: 'failed', message: /exceeded quota/ });
  t.end();
});

t.test('a stuck release has failed, with the pod’s own reason', (t) => {
  const stuck = deployment({
    availableReplicas: 0,
    conditions: [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }],
  });
  const waiting = pod(2);
  waiting.status = {
    containerStatuses: [
      {
        ...{ name: 'app', ready: false, restartCount: 0 },
        state: { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "x:2"' } },
      },
    ],
  };
  t.match(releaseStatus(app, stuck, [pod(1), waiting], now), {
    phase: 'failed',
    message: 'ImagePullBackOff: Back-off pulling image "x:2"',
  });
  t.match(releaseStatus(app, stuck, [pod(1)], now), { phase: 'failed', message: /did not become ready in time/ });
  t.end();
});

t.test('how long the pods of other releases still get requests', (t) => {
  t.equal(othersGoneInMs([pod(2)], 2, now), 0);
  t.equal(othersGoneInMs([pod(2), pod(1, '2026-01-01T00:00:59Z')], 2, now), 3000);
  t.equal(othersGoneInMs([pod(1, '2026-01-01T00:00:40Z')], 2, now), 0);
  t.end();
});
