import t from 'tap';
import type { BatchJob } from '../../../infra/manifests/batch.ts';
import type { KubeObject, Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import type { Build } from '../../../runtime/contracts/resources/build.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { managedLabels, podLabels } from '../../../runtime/domain/labels.ts';
import type { Secret } from '../../../runtime/workloads/owned-secret.ts';
import { ownerReference } from '../../../runtime/kube/claims.ts';
import { failureOf, type BuildConfig } from '../../../workers/controllers/build-run.ts';
import { buildController } from '../../../workers/controllers/build.ts';
import { fakeClock } from '../../support/clock.ts';
import { environmentNamespaceObject } from '../../support/cluster.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { fixedId } from '../../support/state-space.ts';

const namespace = 'shop-prod';
const ref = { apiVersion: 'platform.svc/v1', kind: 'Build', namespace, name: 'api-7' };
const jobRef = { apiVersion: 'batch/v1', kind: 'Job', namespace, name: 'api-7' };
const at = '2026-01-01T00:00:00Z';

function createWorld() {
  const kube = fakeKube();
  kube.seed(environmentNamespaceObject('shop', 'prod'), {
    ...ref,
    metadata: { name: 'api-7', namespace },
    spec: { app: 'api', source: { url: 'https://git.example.com/shop/api.git' } },
  });
  const events: string[] = [];
  const controller = buildController({
    kube,
    records: { issueSourceToken: () => Promise.resolve(undefined) },
    platformConfig: () => undefined,
    clock: fakeClock(),
    events: { record: (_, { reason, message }) => Promise.resolve(void events.push(`${reason}: ${message}`)) },
  });
  const build = () => {
    const [object] = kube.all<Build>(kinds.Build);
    if (!object) throw new Error('there is no build');
    return object;
  };
  const reconcile = () =>
    controller.reconcile({
      namespace,
      name: 'api-7',
      object: kube.all<Build>(kinds.Build)[0],
      log: silentLog,
      signal: new AbortController().signal,
    });
  /** What a builder reports. */
  const begin = (more: object = {}) =>
    kube.create<BatchJob>({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: {
        name: 'api-7',
        namespace,
        labels: managedLabels(),
        ownerReferences: [ownerReference(build())],
        ...more,
      },
      spec: { template: {} },
    });
  const report = (status: NonNullable<BatchJob['status']>) => {
    const [run] = kube.all<BatchJob>(kinds.BatchJob);
    return kube.replaceStatus({ ...run, status } as Stored<BatchJob>);
  };
  const writes = () => kube.calls.filter(({ verb }) => verb !== 'get' && verb !== 'list').length;
  return { kube, controller, build, reconcile, begin, report, writes, events };
}

t.test('a build is recorded, waits for a builder, and reports the progress of its Job', async (t) => {
  const world = createWorld();
  await world.reconcile();
  t.match(world.build(), {
    metadata: { finalizers: ['platform.svc/records'], labels: { 'platform.svc/project': 'shop' } },
    status: {
      observedGeneration: 1,
      phase: 'pending',
      message: 'Waiting for a builder.',
      conditions: [
        { type: 'ChildrenAdopted', status: 'True' },
        { type: 'Succeeded', status: 'Unknown', reason: 'Pending' },
      ],
    },
  });
  await world.begin();
  await world.report({ startTime: at, active: 1, ready: 1 });
  await world.reconcile();
  t.match(world.build().status, { phase: 'running', startedAt: at });
  t.notOk(world.build().status?.message);
  const conditions = [{ type: 'Complete', status: 'True', lastTransitionTime: at }];
  await world.report({ startTime: at, completionTime: at, succeeded: 1, conditions });
  await world.reconcile();
  const end = { phase: 'succeeded', startedAt: at, endedAt: at };
  t.match(world.build().status, { ...end, conditions: [{}, { type: 'Succeeded', status: 'True' }] });
  const before = world.writes();
  await world.reconcile();
  t.equal(world.writes(), before, 'a finished build is not changed');
  await world.kube.delete(jobRef);
  await world.reconcile();
  t.match(world.build().status, end, 'the result stays when the Job is deleted');
  t.same(world.events, []);
});

t.test('a failed build reports the reason once, and keeps it after the pod is deleted', async (t) => {
  const world = createWorld();
  await world.begin();
  const app = { kind: 'App' as const, name: 'api', id: fixedId(1) };
  const labels = { ...podLabels(app, 'build'), 'batch.kubernetes.io/job-name': 'api-7' };
  const terminated = { exitCode: 2, reason: 'Error', message: 'fetching\nno such commit\n' };
  world.kube.seed({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'api-7-x', namespace, labels },
    spec: { containers: [] },
    status: {
      phase: 'Failed',
      containerStatuses: [
        { name: 'proxy', ready: false, restartCount: 0, state: { terminated: { exitCode: 0 } } },
        { name: 'build', ready: false, restartCount: 0, state: { terminated } },
      ],
    },
  });
  const conditions = [{ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded', lastTransitionTime: at }];
  await world.report({ startTime: at, failed: 1, conditions });
  await world.reconcile();
  const end = {
    phase: 'failed',
    message: 'The program exited with code 2: no such commit',
    startedAt: at,
    endedAt: at,
  };
  t.match(world.build().status, { ...end, conditions: [{}, { status: 'False', reason: 'Failed' }] });
  const pod = world.kube.all(kinds.Pod)[0];
  const keys = world.controller.watches?.flatMap((watch) => (pod ? watch.keysOf(pod, () => []) : []));
  t.same(keys, [{ name: 'api-7', namespace }], 'a change of the pod queues the build');
  await world.kube.delete({ apiVersion: 'v1', kind: 'Pod', namespace, name: 'api-7-x' });
  await world.reconcile();
  t.match(world.build().status, end);
  t.same(world.events, ['BuildFailed: The program exited with code 2: no such commit']);
});

t.test('a Job that is deleted before its result was seen fails the build', async (t) => {
  const world = createWorld();
  await world.begin();
  await world.report({ startTime: at, active: 1 });
  await world.reconcile();
  t.match(world.build().status, { phase: 'pending', startedAt: at });
  await world.kube.delete(jobRef);
  await world.reconcile();
  t.match(world.build().status, { phase: 'failed', message: /was deleted before it finished/, startedAt: at });
  t.equal(world.events.length, 1);
});

t.test('a foreign Job of that name is reported and not changed, and a recorded result is kept', async (t) => {
  const world = createWorld();
  await world.begin({ labels: {}, ownerReferences: [] });
  await t.rejects(world.reconcile(), { name: 'ForeignObjectError' });
  t.match(world.build().status, {
    phase: 'failed',
    message: /Job "api-7" in shop-prod was not created by the platform/,
    conditions: [{ type: 'ChildrenAdopted', status: 'False', reason: 'ChildReconcileFailed' }],
  });
  t.match(world.events, [/^ReconcileFailed: /]);
  await world.kube.delete(ref);
  await world.reconcile();
  t.same(world.kube.all(kinds.Build), []);
  t.equal(world.kube.all(kinds.BatchJob).length, 1);

  const done = createWorld();
  await done.begin();
  await done.report({ startTime: at, completionTime: at, conditions: [{ type: 'Complete', status: 'True' }] });
  await done.reconcile();
  await done.kube.delete(jobRef);
  await done.begin({ labels: {}, ownerReferences: [] });
  await done.reconcile();
  t.match(done.build().status, { phase: 'succeeded', conditions: [{ status: 'True' }, { status: 'True' }] });
});

t.test('deleting a build stops its Job first', async (t) => {
  const world = createWorld();
  await world.begin({ finalizers: ['kubernetes.io/pods'] });
  await world.reconcile();
  await world.kube.delete(ref);
  await t.rejects(world.reconcile(), { name: 'NotYetError' });
  t.ok(world.build(), 'its pods are still running');
  t.ok(world.kube.all(kinds.BatchJob)[0]?.metadata.deletionTimestamp);
  await world.kube.mergePatch(jobRef, { metadata: { finalizers: null } });
  await world.reconcile();
  t.same([world.kube.all(kinds.Build), world.kube.all(kinds.BatchJob)], [[], []]);
});

t.test('a namespace that is not an environment is refused', async (t) => {
  const world = createWorld();
  const labels = { 'platform.svc/project': null, 'platform.svc/environment': null };
  await world.kube.mergePatch({ apiVersion: 'v1', kind: 'Namespace', name: namespace }, { metadata: { labels } });
  await t.rejects(world.reconcile(), { code: 'invalid_value' });
  t.match(world.build().status, { phase: 'failed', message: /is not an environment of a project/ });
});

const builds = { image: 'r.test/builder:1', registry: 'r.test/builds', baseImages: { node: 'r.test/node:1' } };
const token = Buffer.from('SECRETtoken').toString('base64');

/** A build for an app, in the build namespace. */
function createOwnWorld(more: Partial<Build['spec']> = {}) {
  const kube = fakeKube();
  const at = { namespace: 'svc-builds', name: 'build-1' };
  const source = { url: 'https://git.example.com/shop/api.git', branch: 'main', commit: 'abcdef1' };
  const uid = 'app-uid';
  const owned = { 'app.kubernetes.io/managed-by': 'kipper' };
  const owner = { apiVersion: 'platform.svc/v1', kind: 'App', name: 'api', uid, controller: true };
  kube.seed(
    environmentNamespaceObject('shop', 'prod'),
    { ...ref, kind: 'App', metadata: { name: 'api', namespace, uid } },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      data: { token },
      metadata: { name: 'app-api-git', namespace, labels: owned, ownerReferences: [owner] },
    } as KubeObject,
    { ...ref, metadata: at, spec: { app: 'api', namespace, deploymentId: fixedId(7), revision: 3, source, ...more } },
  );
  let settings: BuildConfig | undefined;
  const controller = buildController({
    kube,
    records: { issueSourceToken: (id) => Promise.resolve(`source-token-of-${id}`) },
    platformConfig: () => settings,
    clock: fakeClock(),
    events: { record: () => Promise.resolve() },
  });
  const build = () => kube.all<Build>(kinds.Build)[0];
  const reconcile = () =>
    controller.reconcile({ ...at, object: build(), log: silentLog, signal: new AbortController().signal });
  const job = () => {
    const [object] = kube.all<BatchJob>(kinds.BatchJob);
    if (!object) throw new Error('there is no job');
    return object;
  };
  /** Ends the steps of its pod, then its Job. */
  const end = async ([clone, make, push]: readonly object[], status: NonNullable<BatchJob['status']>) => {
    const labels = { ...managedLabels(), 'platform.svc/role': 'build', 'batch.kubernetes.io/job-name': at.name };
    kube.seed({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'build-1-x', namespace: at.namespace, labels },
      spec: { containers: [] },
      status: {
        initContainerStatuses: [
          { name: 'clone', state: { terminated: clone } },
          { name: 'build', state: { terminated: make } },
        ],
        containerStatuses: [{ name: 'push', state: { terminated: push } }],
      },
    });
    await kube.replaceStatus({ ...job(), status });
    await reconcile();
  };
  const configure = (other: BuildConfig = {}) => void (settings = { builds, ...other });
  return { kube, at, build, reconcile, job, end, configure };
}

t.test('in the build namespace the Job is created, with credentials for its first step', async (t) => {
  const world = createOwnWorld();
  const { kube, at, build, reconcile } = world;
  await t.rejects(reconcile(), { code: 'service_not_installed' });
  t.match(build()?.status, { phase: 'failed', message: /Builds are not enabled/ });

  world.configure();
  await reconcile();
  const job = world.job();
  const pod = (job.spec as { template: { spec: Record<string, unknown> } }).template.spec;
  t.match(job.metadata, { ...at, ownerReferences: [{ kind: 'Build' }] });
  t.match(job.spec, { activeDeadlineSeconds: 1500 });
  t.equal(pod['automountServiceAccountToken'], false);
  t.notMatch(JSON.stringify(job), token, 'no secret in a pod’s specification');
  const tag = `3-${fixedId(7).replaceAll('-', '').slice(-16)}`;
  t.match(JSON.stringify(job), `"BUILD_IMAGE","value":"r.test/builds/shop-prod/api:${tag}"`);
  const copies = () => kube.all<KubeObject>(kinds.Secret).filter(({ metadata }) => metadata.namespace === at.namespace);
  t.match(copies(), [{ data: { token } }]);
  t.equal(kube.all(kinds.NetworkPolicy).length, 1);

  const image = { image: `r.test/builds/shop-prod/api:${tag}`, digest: `sha256:${'d'.repeat(64)}` };
  const commit = { commit: 'a'.repeat(40), commitMessage: 'Say one', commitAuthor: 'Kim' };
  const ended = (message: object) => ({ exitCode: 0, message: JSON.stringify(message) });
  // The second step runs the source's own code.
  const forged = ended({ ...image, ...commit, image: 'r.test/builds/bank-prod/api:1', commitAuthor: 'Mallory' });
  const conditions = [{ type: 'Complete', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }];
  await world.end([ended(commit), forged, ended(image)], { succeeded: 1, conditions });
  t.match(build()?.status, { phase: 'succeeded', ...image, ...commit });
  t.same(copies(), [], 'the copy of the credentials is deleted');
});

t.test('a build gets the registries and the CA certificates of the installation', async (t) => {
  const world = createOwnWorld();
  world.configure({ packageRegistries: { npm: 'https://npm.example.com' }, caCertificates: 'PEM' });
  await world.reconcile();
  const job = JSON.stringify(world.job());
  t.match(job, '"npm_config_registry","value":"https://npm.example.com"');
  t.match(job, '"BUILD_CA_CERTIFICATES","value":"PEM"');
});

t.test('the build of an uploaded folder gets a token for its files, and not the app’s git credentials', async (t) => {
  const world = createOwnWorld({ source: { upload: true } });
  const { kube, at, build, reconcile } = world;
  world.configure();
  await reconcile();
  const copies = () => kube.all<Secret>(kinds.Secret).filter(({ metadata }) => metadata.namespace === at.namespace);
  const sourceToken = Buffer.from(`source-token-of-${fixedId(7)}`).toString('base64');
  t.same(
    copies().map(({ data }) => data),
    [{ sourceToken }],
  );
  const job = JSON.stringify(world.job());
  t.match(job, `"BUILD_SOURCE_URL","value":"http://svc-events.svc-system.svc/sources/${fixedId(7)}"`);
  t.notMatch(job, 'BUILD_URL');
  t.notMatch(job, 'source-token');
  const image = { image: 'r.test/builds/shop-prod/api:3', digest: `sha256:${'d'.repeat(64)}` };
  const ended = (message: object) => ({ exitCode: 0, message: JSON.stringify(message) });
  const conditions = [{ type: 'Complete', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }];
  await world.end([ended({ files: 3 }), ended({}), ended(image)], { succeeded: 1, conditions });
  t.match(build()?.status, { phase: 'succeeded', ...image, commit: undefined });
  t.same(copies(), [], 'the token is deleted');
});

t.test('a build gets no credentials for a server that the app no longer uses', async (t) => {
  for (const [server, expected] of [
    ['https://git.example.com:443', [{ data: { token, server: undefined } }]],
    ['https://elsewhere.example.com:443', []],
  ] as const) {
    const world = createOwnWorld();
    const [secret] = world.kube.all<Secret>(kinds.Secret);
    if (!secret) throw new Error('there is no Secret');
    await world.kube.replace({ ...secret, data: { token, server: Buffer.from(server).toString('base64') } });
    world.configure();
    await world.reconcile();
    const copies = world.kube.all(kinds.Secret).filter(({ metadata }) => metadata.namespace === world.at.namespace);
    t.match(copies, expected, server);
    t.equal(copies.length, expected.length);
  }
});

t.test('a build that took too long reports the time-out, not how its steps were stopped', async (t) => {
  const world = createOwnWorld({ timeoutSeconds: 90 });
  world.configure();
  await world.reconcile();
  t.match(world.job().spec, { activeDeadlineSeconds: 90 });
  const conditions = [{ type: 'Failed', status: 'True', reason: 'DeadlineExceeded', lastTransitionTime: at }];
  const steps = [{ exitCode: 0 }, { exitCode: 143, message: 'installing\n' }, { exitCode: 0 }];
  await world.end(steps, { failed: 1, conditions });
  t.match(world.build()?.status, {
    phase: 'failed',
    message: /^The build exceeded its timeout of 90 seconds and was stopped.*svc platform config set --build-timeout/,
  });
});

t.test('a failed step is reported in one line, followed by the end of its log', (t) => {
  const failed = (name: string, terminated: object) => {
    const status = { initContainerStatuses: [{ name, restartCount: 0, state: { terminated } }] };
    return failureOf([{ metadata: { name: 'api-7', namespace }, status } as unknown as Stored<Pod>]);
  };
  t.equal(
    failed('clone', { exitCode: 1, message: 'fetching 1234567 of http://git.test/api.git\nno such commit\n' }),
    'The source could not be fetched: no such commit\nThe last lines of its log:\nfetching 1234567 of http://git.test/api.git',
  );
  t.equal(
    failed('build', { exitCode: 2, message: 'no script "start"\n' }),
    'The image could not be built: no script "start"',
  );
  t.match(
    failed('build', {
      exitCode: 1,
      message: 'npm error code SELF_SIGNED_CERT_IN_CHAIN\nstep 1/1 (RUN npm ci) failed\n',
    }),
    /: step 1\/1 \(RUN npm ci\) failed\nThe certificate is not trusted\. .* svc platform config set --ca-file <file>\.\nThe last lines/,
  );
  const ended = 'step 2/2 (RUN npm ci) ended with 1: 404 Not Found';
  const log = ['STEP 2/2: RUN npm ci', 'x'.repeat(900), 'subprocess exited with status 1', ended];
  t.equal(
    failed('build', { exitCode: 1, message: log.join('\n') }),
    `The image could not be built: ${ended}\nThe last lines of its log:\nSTEP 2/2: RUN npm ci\n${'x'.repeat(200)}`,
    "long lines and buildah's own lines leave room for others",
  );
  t.equal(failed('build', { exitCode: 137 }), 'The image could not be built: the step exited with code 137');
  t.equal(failed('build', { exitCode: 137, reason: 'OOMKilled' }), 'The step "build" exceeded its memory limit.');
  t.equal(failed('push', { exitCode: 1, message: 'denied\n' }), 'The image could not be pushed: denied');
  t.equal(failed('clone', { exitCode: 0, message: 'fine' }), undefined);
  t.end();
});
