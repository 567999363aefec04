import t from 'tap';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { ContainerState, Pod } from '../../../runtime/contracts/pod.ts';
import type { ReleaseStatus } from '../../../runtime/contracts/resources/app.ts';
import { releaseAnnotation } from '../../../runtime/domain/labels.ts';
import type { Deployment } from '../../../workers/controllers/deployment-object.ts';
import { otherReleasesGoneInMs, patienceLeftMs, releaseStatus } from '../../../workers/controllers/app-release.ts';

const release = { generation: 2, deploymentId: '01890a5d-ac96-774b-bcce-b302099a8057', image: 'x:2' };
const app = { spec: { image: 'x:1', port: 8080, replicas: 1, release } };
const now = new Date('2026-01-01T00:01:00Z');

function pod(generation: number, deletedAt?: string): Stored<Pod> {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `p${generation}`,
      uid: 'u',
      resourceVersion: '1',
      annotations: { [releaseAnnotation]: String(generation) },
      ...(deletedAt !== undefined && {
        deletionTimestamp: new Date(Date.parse(deletedAt) + 30_000).toISOString(),
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
      observedGeneration: 5,
      replicas: 1,
      updatedReplicas: 1,
      readyReplicas: 1,
      availableReplicas: 1,
      ...change,
    },
  };
}

t.test('a release is available once its pods are ready and no other pod receives requests', (t) => {
  const phase = (...args: [Stored<Deployment> | undefined, Stored<Pod>[]]) => releaseStatus(app, ...args, now)?.phase;
  t.equal(phase(deployment(), [pod(2)]), 'available');
  t.equal(
    phase(deployment(), [pod(2), pod(1, '2026-01-01T00:00:50Z')]),
    'available',
    'an old pod that began to terminate long ago',
  );
  const evicted: Stored<Pod> = { ...pod(1), status: { phase: 'Failed', reason: 'Evicted' } };
  t.equal(phase(deployment(), [pod(2), evicted]), 'available', 'an old pod that nothing deletes receives no requests');
  const waiting: [string, Stored<Deployment> | undefined, Stored<Pod>[]][] = [
    ['no Deployment yet', undefined, []],
    ['the Deployment is of the release before', deployment({}, 1), [pod(1)]],
    ['its controller has not seen the change', deployment({ observedGeneration: 4 }), [pod(2)]],
    ['a new pod is not ready', deployment({ availableReplicas: 0 }), [pod(2)]],
    ['an old pod is counted', deployment({ replicas: 2 }), [pod(2), pod(1)]],
    ['an old pod began to terminate a moment ago', deployment(), [pod(2), pod(1, '2026-01-01T00:00:58Z')]],
    ['an old pod is not terminating yet', deployment(), [pod(2), pod(1)]],
  ];
  for (const [why, ...input] of waiting) t.equal(phase(...input), 'progressing', why);
  t.end();
});

t.test('while a release progresses, only its own ready pods are counted', (t) => {
  const ready = (one: Stored<Pod>): Stored<Pod> => ({
    ...one,
    status: { ...one.status, conditions: [{ type: 'Ready', status: 'True' }] },
  });
  const counted = (...pods: Stored<Pod>[]) => releaseStatus(app, deployment(), pods, now)?.readyReplicas;
  t.equal(counted(ready(pod(1))), 0);
  t.equal(counted(ready(pod(1)), ready(pod(2))), 1);
  t.equal(counted(ready(pod(2))), undefined, 'it is available');
  t.end();
});

t.test('availability is kept, but only for the same release', (t) => {
  const status = { release: { generation: 2, deploymentId: release.deploymentId, phase: 'available' as const } };
  t.equal(releaseStatus({ ...app, status }, deployment({ availableReplicas: 0 }), [], now)?.phase, 'available');
  const older = { release: { ...status.release, generation: 1 } };
  t.equal(releaseStatus({ ...app, status: older }, undefined, [], now)?.phase, 'progressing');
  t.equal(releaseStatus({ spec: { image: 'x:1', port: 8080, replicas: 1 } }, undefined, [], now), undefined);
  t.end();
});

t.test('other pods of the same release are waited for too', (t) => {
  const withMemory = (memory: string, status: Partial<NonNullable<Deployment['status']>> = {}) => {
    const object = deployment(status);
    const template = {
      ...object.spec.template,
      spec: { containers: [{ name: 'app', resources: { limits: { memory } } }] },
    };
    return { ...object, spec: { ...object.spec, template } };
  };
  const see = (before: ReleaseStatus | undefined, live: Stored<Deployment>) =>
    releaseStatus({ ...app, ...(before && { status: { release: before } }) }, live, [pod(2)], now);
  const first = see(undefined, withMemory('1Gi'));
  t.match(first, { phase: 'available', template: /^[0-9a-f]{16}$/ });
  t.same(see(first, withMemory('1Gi', { availableReplicas: 0 })), first, 'a failed pod does not count');
  const rolling = see(first, withMemory('2Gi', { updatedReplicas: 0 }));
  t.match(rolling, { phase: 'progressing' });
  t.not(rolling?.template, first?.template);
  t.match(see(rolling, withMemory('2Gi', { replicas: 2 })), { phase: 'progressing' });
  t.match(see(rolling, withMemory('2Gi')), { phase: 'available', template: rolling?.template });
  const deadlineExceeded = {
    conditions: [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }],
  };
  t.match(see(rolling, withMemory('2Gi', { ...deadlineExceeded, availableReplicas: 0 })), { phase: 'failed' });
  t.match(see(first, withMemory('1Gi', { updatedReplicas: 0 })), { phase: 'available' }, 'reverted');
  const older = { generation: 2, deploymentId: release.deploymentId, phase: 'available' as const };
  t.match(
    see(older, withMemory('1Gi', { availableReplicas: 0 })),
    { phase: 'available', template: first?.template },
    'a status from an earlier version of the platform still counts',
  );
  t.end();
});

const later = (seconds: number) => new Date(now.getTime() + seconds * 1000);

t.test('the reason why pods are refused is reported after a grace period', (t) => {
  const message = 'pods "api-1" is forbidden: exceeded quota: svc-environment';
  const refused = (progressing: string, failure = 'True') =>
    deployment({
      availableReplicas: 0,
      updatedReplicas: 0,
      replicas: 1,
      conditions: [
        { type: 'Progressing', status: progressing, reason: 'ProgressDeadlineExceeded' },
        { type: 'ReplicaFailure', status: failure, message },
      ],
    });
  t.match(releaseStatus(app, refused('False'), [], now), { phase: 'failed', message });
  const first = releaseStatus(app, refused('True'), [], now);
  t.match(first, { phase: 'progressing', faultSince: now.toISOString() });
  const appWithStatus = { ...app, ...(first && { status: { release: first } }) };
  t.match(releaseStatus(appWithStatus, refused('True'), [], later(29)), { phase: 'progressing' });
  t.match(releaseStatus(appWithStatus, refused('True'), [], later(30)), { phase: 'failed', message });
  const relieved = releaseStatus(appWithStatus, refused('True', 'False'), [], later(30));
  t.match(relieved, { phase: 'progressing', faultSince: undefined });
  t.end();
});

/** A pod of the release with its container in this state. */
function podIn(
  state: ContainerState,
  {
    restarts = 0,
    lastState,
    generation = 2,
  }: { restarts?: number; lastState?: ContainerState; generation?: number } = {},
): Stored<Pod> {
  const status = { name: 'app', ready: false, restartCount: restarts, state, ...(lastState && { lastState }) };
  return { ...pod(generation), status: { containerStatuses: [status] } };
}
const crashed = (exitCode: number, message?: string, reason = 'Error'): ContainerState => ({
  terminated: { exitCode, reason, ...(message !== undefined && { message }) },
});
const backOff = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 20s restarting failed container=app' } };
const rolling = deployment({ availableReplicas: 0 });
const deadlineExceeded = deployment({
  availableReplicas: 0,
  conditions: [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }],
});

t.test('a stuck release fails with the reason from its pods', (t) => {
  const message = (pods: Stored<Pod>[], spec = {}) =>
    releaseStatus({ spec: { ...app.spec, ...spec } }, deadlineExceeded, [pod(1), ...pods], now)?.message;
  const pulling = podIn({ waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "x:2"' } });
  t.equal(message([pulling]), 'The image cannot be pulled (ImagePullBackOff): Back-off pulling image "x:2"');
  t.match(message([]), /did not start within 120 seconds/);
  const running = podIn({ running: {} });
  t.match(message([running]), /nothing accepted a connection on port 8080/);
  t.match(message([running], { healthPath: '/ready' }), /GET \/ready on port 8080 did not return 2xx/);
  const unplaced: Stored<Pod> = {
    ...pod(2),
    status: {
      conditions: [
        { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes: Insufficient memory.' },
      ],
    },
  };
  t.match(message([unplaced]), /^No node has room for the new pods: 0\/1 nodes/);
  t.end();
});

t.test('a container that keeps crashing fails its release early; one that crashes at first does not', (t) => {
  const status = (...pods: Stored<Pod>[]) => releaseStatus(app, rolling, pods, now);
  const lastState = crashed(1, 'starting\n{"level":"error","msg":"no DATABASE_URL"}\n');
  for (const restarts of [0, 1, 2]) {
    t.match(status(podIn(backOff, { restarts, lastState })), { phase: 'progressing' }, `after ${restarts} restarts`);
  }
  t.match(
    status(podIn({ running: {} }, { restarts: 3, lastState })),
    { phase: 'progressing' },
    'it is still progressing',
  );
  t.match(status(podIn(backOff, { restarts: 3, lastState })), {
    phase: 'failed',
    message: 'The container keeps crashing (exit code 1): no DATABASE_URL',
  });
  const trace =
    'file:///app/server.mjs:7\n\nSyntaxError: Unexpected token\n    at parse (x:1)\n  code: 1\n}\n\nNode.js v24.1.0';
  t.match(status(podIn(backOff, { restarts: 3, lastState: crashed(1, trace) })), {
    message: 'The container keeps crashing (exit code 1): SyntaxError: Unexpected token',
  });
  t.match(status(podIn(backOff, { restarts: 5, lastState, generation: 1 })), { phase: 'progressing' }, 'an older pod');
  t.match(status(podIn(backOff, { restarts: 3, lastState: crashed(0) })), {
    message: 'The container keeps exiting; an app has to keep running (exit code 0)',
  });
  t.match(status(podIn(backOff, { restarts: 3, lastState: crashed(137, undefined, 'OOMKilled') })), {
    message: /^The container keeps running out of memory/,
  });
  t.end();
});

t.test('failures of pods with the previous settings do not fail the new ones', (t) => {
  const restarts = 5;
  const object = (one: Stored<Pod>, template: string, second: number): Stored<Pod> => ({
    ...one,
    metadata: {
      ...one.metadata,
      labels: { 'pod-template-hash': template },
      creationTimestamp: `2026-01-01T00:00:0${second}Z`,
    },
  });
  const before = object(podIn(backOff, { restarts, lastState: crashed(1) }), 'a', 1);
  const starting = object(podIn({ running: {} }), 'b', 2);
  const see = (live: Stored<Deployment>, ...pods: Stored<Pod>[]) => releaseStatus(app, live, pods, now)?.phase;
  t.equal(see(rolling, before), 'failed');
  t.equal(see(deployment({ availableReplicas: 0, observedGeneration: 4 }), before), 'progressing', 'not observed yet');
  t.equal(
    see(deployment({ availableReplicas: 0, updatedReplicas: 0 }), before),
    'progressing',
    'no pod is created yet',
  );
  t.equal(see(rolling, before, starting), 'progressing');
  t.equal(see(rolling, starting, object(podIn(backOff, { restarts, lastState: crashed(1) }), 'b', 1)), 'failed');
  t.end();
});

t.test('an image that the embedded node does not have fails the release at once', (t) => {
  const message = 'Image "x:2" is not on this machine. Build it with: svc image build DIR -t x:2';
  const missing = podIn({ waiting: { reason: 'ErrImageNeverPull', message } });
  t.match(releaseStatus(app, rolling, [missing], now), {
    phase: 'failed',
    message: `The image cannot be pulled (ErrImageNeverPull): ${message}`,
  });
  t.end();
});

t.test('a temporary problem is waited for, but not for long', (t) => {
  let release: ReleaseStatus | undefined;
  const see = (seconds: number, ...pods: Stored<Pod>[]) =>
    (release = releaseStatus({ ...app, ...(release && { status: { release } }) }, rolling, pods, later(seconds)));
  const missing = (reason: string) => podIn({ waiting: { reason, message: 'manifest unknown' } });
  t.match(see(0, podIn({ waiting: { reason: 'ContainerCreating' } })), { phase: 'progressing', faultSince: undefined });
  t.match(see(1, missing('ErrImagePull')), { phase: 'progressing', faultSince: later(1).toISOString() });
  t.equal(patienceLeftMs(release, later(11)), 20_000);
  t.match(see(20, missing('ImagePullBackOff')), { phase: 'progressing', faultSince: later(1).toISOString() });
  t.match(
    see(25, podIn({ running: {} })),
    { phase: 'progressing', faultSince: undefined },
    'the image existed after all',
  );
  const unsynced = 'failed to sync secret cache: timed out waiting for the condition';
  t.match(
    see(26, podIn({ waiting: { reason: 'CreateContainerConfigError', message: unsynced } })),
    { phase: 'progressing', faultSince: undefined },
    'a Secret that the kubelet has not seen yet is a temporary problem',
  );
  t.match(see(26, missing('CreateContainerConfigError')), { faultSince: later(26).toISOString() });
  t.match(see(56, missing('CreateContainerConfigError')), {
    phase: 'failed',
    message: 'The container cannot be started (CreateContainerConfigError): manifest unknown',
  });
  t.match(see(57, podIn({ running: {} })), { phase: 'failed', message: /cannot be started/ }, 'it stays failed');
  t.equal(patienceLeftMs(release, later(57)), undefined);
  t.match(releaseStatus({ ...app, ...(release && { status: { release } }) }, deployment(), [pod(2)], later(60)), {
    phase: 'available',
  });
  t.match(
    releaseStatus(app, rolling, [missing('InvalidImageName')], now),
    { phase: 'failed' },
    'waiting does not help',
  );
  t.end();
});

t.test('how long pods of other releases still receive requests', (t) => {
  t.equal(otherReleasesGoneInMs([pod(2)], 2, now), 0);
  t.equal(otherReleasesGoneInMs([pod(2), pod(1, '2026-01-01T00:00:59Z')], 2, now), 3000);
  t.equal(otherReleasesGoneInMs([pod(1, '2026-01-01T00:00:40Z')], 2, now), 0);
  t.end();
});
