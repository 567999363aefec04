import t from 'tap';
import type { FunctionDeployment } from '../../../infra/manifests/function.ts';
import type { KubeObject, Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import type { FunctionResource, FunctionSpec } from '../../../runtime/contracts/resources/function.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { podLabels, secretsExpectedAnnotation } from '../../../runtime/domain/labels.ts';
import { bindingData, bindingSecretName } from '../../../runtime/workloads/bindings.ts';
import { ownedSecret, type Secret } from '../../../runtime/workloads/owned-secret.ts';
import { workloadIdOf } from '../../../runtime/workloads/objects.ts';
import { createSecretStore } from '../../../runtime/workloads/secrets.ts';
import { functionController } from '../../../workers/controllers/function.ts';
import { startSettings } from '../../../workers/controllers/function-settings.ts';
import { endRuns, environmentNamespaceObject } from '../../support/cluster.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { settings } from '../../support/objects.ts';

const namespace = 'shop-prod';
const ref = { apiVersion: 'platform.svc/v1', kind: 'Function', namespace, name: 'hello' };

async function world(spec: Partial<FunctionSpec> = {}) {
  const clock = fakeClock();
  const kube = fakeKube({ now: () => clock.now() });
  kube.seed(environmentNamespaceObject('shop', 'prod'));
  const controller = functionController({
    kube,
    platformConfig: () => settings,
    records: {
      project: () => Promise.resolve(),
      projectBindings: () => Promise.resolve(),
      projectEvents: () => Promise.resolve(undefined),
      markDeleted: () => Promise.resolve(),
    },
    events: { record: () => Promise.resolve() },
    probeGate: () => Promise.reject(new Error('no function has a gate here')),
    clock,
  });
  await kube.create<KubeObject>({
    apiVersion: ref.apiVersion,
    kind: ref.kind,
    metadata: { name: 'hello', namespace },
    spec: { runtime: 'node', code: 'x', trigger: 'http', port: 8080, idleTimeoutSeconds: 300, ...spec },
  });
  const hello = async () => {
    const resource = await kube.get<FunctionResource>(kinds.Function, 'hello', namespace);
    if (!resource) throw new Error('no function');
    return resource;
  };
  const reconcile = async () =>
    controller.reconcile({
      namespace,
      name: 'hello',
      object: await hello(),
      log: silentLog,
      signal: new AbortController().signal,
    });
  const change = async (next: object) => {
    await kube.mergePatch(ref, { spec: next });
    return reconcile();
  };
  const setSecret = async (name: string, value: string) => {
    await createSecretStore({ kube, clock }).set(await hello(), name, value);
    return change({ secretsRevision: newId() });
  };
  const environments = () => {
    const secrets = kube.all<Secret>(kinds.Secret).filter(({ metadata }) => metadata.name.includes('-env-'));
    return Object.fromEntries(
      secrets.map(({ metadata, data = {}, immutable }) => {
        if (!immutable) throw new Error(`${metadata.name} can be changed`);
        const entries = Object.entries(data).map(([name, value]) => [name, Buffer.from(value, 'base64').toString()]);
        return [metadata.name, Object.fromEntries(entries) as Record<string, string>];
      }),
    );
  };
  const deployment = () => kube.all<FunctionDeployment>(kinds.Deployment)[0] as Stored<FunctionDeployment>;
  const template = () => startSettings(deployment().spec.template).envSecret ?? '';
  /** Reports what the Deployment controller would report; `all` pods have the newest template. */
  const scale = async (replicas: number, all = true) => {
    await kube.replace({ ...deployment(), spec: { ...deployment().spec, replicas } });
    const { generation = 1 } = deployment().metadata;
    const updatedReplicas = all ? replicas : 0;
    await kube.replaceStatus({
      ...deployment(),
      status: { observedGeneration: generation, replicas, updatedReplicas, readyReplicas: replicas },
    });
    return reconcile();
  };
  return { kube, clock, hello, reconcile, change, setSecret, environments, deployment, template, scale };
}

const env = (variables: Record<string, string>) => ({
  env: Object.entries(variables).map(([name, value]) => ({ name, value })),
});

t.test('variables and secrets make one immutable Secret, named by a hash of its content', async (t) => {
  const { change, setSecret, environments, template, hello, kube, reconcile, scale } = await world();
  await reconcile();
  t.same(environments(), {});
  t.equal(template(), '', 'without variables there is none');
  await setSecret('PASSWORD', 'hunter2');
  await change(env({ URL: 'db://${USER}:${PASSWORD}@h', USER: 'u' }));
  t.match(template(), /^function-hello-env-[0-9a-f]{16}$/);
  const resolved = { PASSWORD: 'hunter2', URL: 'db://u:hunter2@h', USER: 'u' };
  await scale(0);
  t.same(environments(), { [template()]: resolved }, 'the previous one is deleted');
  const [secret] = kube.all<Secret>(kinds.Secret).filter(({ metadata }) => metadata.name === template());
  t.match(secret?.metadata, { ownerReferences: [{ kind: 'Function', name: 'hello' }], labels: { app: 'hello' } });
  t.notMatch(JSON.stringify([await hello(), kube.all(kinds.Deployment)]), 'hunter2');
  const writes = () => kube.calls.filter(({ verb }) => verb !== 'get' && verb !== 'list').length;
  const before = writes();
  await reconcile();
  t.equal(writes(), before, 'a pass without changes writes nothing');
  await t.rejects(change(env({ URL: '${HOST}', HOST: '${URL}' })), { code: 'invalid_value' });
  t.match((await hello()).status, { phase: 'failed', message: /"URL" refers to itself \(URL → HOST → URL\)/ });
  t.same(environments(), { [template()]: resolved }, 'a Secret that the function uses is kept');
});

t.test('a pod that a request starts just before the environment is written gets it all the same', async (t) => {
  const { kube, change, reconcile, template, deployment, scale, environments } = await world(env({ A: '1' }));
  await reconcile();
  const first = template();
  await kube.replace({ ...deployment(), spec: { ...deployment().spec, replicas: 1 } });
  await change(env({ A: '2' }));
  t.same(environments()[template()], { A: '2' });
  t.not(template(), first);
  t.equal(deployment().spec.replicas, 1);
  await scale(1);
  const second = template();
  await change(env({ A: '3' }));
  t.equal(template(), second, 'once its pod is reported, it keeps what it started with');
});

t.test('running pods keep their environment and limits until a restart, which deletes the old ones', async (t) => {
  const { change, environments, template, hello, scale, deployment, kube, reconcile } = await world(env({ A: '1' }));
  await reconcile();
  await scale(1);
  const first = template();
  t.match((await hello()).status?.running, { envSecret: first, memory: '256Mi' });
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'hello-1',
      namespace,
      labels: podLabels({ kind: 'Function', name: 'hello', id: workloadIdOf(await hello()) }, 'serve'),
    },
    spec: deployment().spec.template.spec,
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  };
  kube.seed(pod);
  const { generation } = deployment().metadata;
  await change({ ...env({ A: '2' }), memory: '512Mi' });
  t.equal(template(), first);
  t.equal(deployment().metadata.generation, generation, 'no pod is replaced');
  t.same(
    Object.values(environments())
      .map(({ A }) => A)
      .sort((x = '', y = '') => (x < y ? -1 : 1)),
    ['1', '2'],
  );
  t.match((await hello()).status?.running, { envSecret: first, memory: '256Mi' });

  await change({ restartedAt: '2026-11-22T10:00:00Z' });
  const second = template();
  t.not(second, first);
  await scale(1, false);
  t.match((await hello()).status?.running, { envSecret: first, memory: '256Mi' }, 'while an old pod remains');
  await scale(1);
  t.match((await hello()).status?.running, { envSecret: second, memory: '512Mi', restartedAt: '2026-11-22T10:00:00Z' });
  t.equal(Object.keys(environments()).length, 2, 'a pod uses it');
  await kube.delete({ apiVersion: 'v1', kind: 'Pod', namespace, name: 'hello-1' });
  await reconcile();
  t.same(environments(), { [second]: { A: '2' } });

  await change(env({ A: '3' }));
  t.equal(template(), second);
  await scale(0);
  await scale(0);
  t.same(environments(), { [template()]: { A: '3' } }, 'at zero replicas the next start uses it');
  t.equal((await hello()).status?.running, undefined);
  await change({ env: null });
  await scale(0);
  t.same([environments(), template()], [{}, '']);
});

t.test('a binding’s variables are added once it is ready; until then nothing changes', async (t) => {
  const { change, environments, template, hello, kube, reconcile, scale } = await world({
    ...env({ URL: 'db://${DB_HOST}', DB_PORT: '1' }),
    bindings: [{ service: 'orders', version: 1 }],
  });
  const report = async (version: number, phase: 'failed' | 'ready', password = '') => {
    const resource = await hello();
    const name = bindingSecretName(resource, 'orders');
    const login = { host: 'db', port: 5432, tls: false, username: 'u', database: 'd', password };
    const data = bindingData({ type: 'postgres', ...login }, version);
    const live = await kube.get<Secret>(kinds.Secret, name, namespace);
    await (live ? kube.replace({ ...live, data }) : kube.create(ownedSecret(resource, name, data)));
    const bindings = [{ service: 'orders', version, phase }];
    await kube.replaceStatus({ ...resource, status: { ...resource.status, bindings } });
  };
  await t.rejects(reconcile(), { name: 'NotYetError' }, 'no pod starts without it');
  t.same([kube.all(kinds.Deployment), (await hello()).status?.phase], [[], undefined]);
  await report(1, 'ready', 'first');
  await reconcile();
  const bound = { DB_HOST: 'db', DB_USERNAME: 'u', DB_NAME: 'd', DB_PORT: '1', URL: 'db://db' };
  const withPassword = (password: string) => ({
    [template()]: { ...bound, DB_PASSWORD: password, DATABASE_URL: `postgresql://u:${password}@db:5432/d` },
  });
  t.same(environments(), withPassword('first'), "the function's own variable wins");
  const applied = async () => (await hello()).status?.bindings?.map((status) => status.applied ?? false);
  t.same(await applied(), [true], 'pods that start get them');

  const first = template();
  await report(2, 'failed', 'second');
  await change({ bindings: [{ service: 'orders', version: 2 }], code: 'second' });
  t.equal(template(), first, 'new code is applied all the same');
  t.same(await applied(), [false]);
  t.match((await hello()).status?.observedGeneration, (await hello()).metadata.generation);
  await report(2, 'ready', 'second');
  await reconcile();
  await scale(0);
  t.same(environments(), withPassword('second'));
  t.same(await applied(), [true]);

  await change({
    bindings: [
      { service: 'cache', version: 1 },
      { service: 'orders', version: 2 },
    ],
  });
  t.same(environments(), withPassword('second'));
  await report(2, 'ready', 'second');
  await reconcile();
  t.same(await applied(), [false], 'while one binding has no credentials, pods get the variables of none');
});

t.test('scheduled and test runs use the environment, and a run keeps the one it was created with', async (t) => {
  const schedule = { trigger: 'cron', schedule: '0 2 * * *' } as const;
  const { change, environments, reconcile, kube, clock } = await world({ ...env({ A: '1' }), ...schedule });
  const request = (id: number) => ({ id: String(id).padStart(10, '0'), at: '2026-01-01T00:00:00Z' });
  interface Templated extends KubeObject {
    spec: { template: FunctionDeployment['spec']['template'] };
  }
  const runs = () =>
    kube.all<Templated>(kinds.BatchJob).map(({ spec: { template } }) => startSettings(template).envSecret);
  const scheduled = () => {
    const [cronJob] = kube.all<KubeObject & { spec: { jobTemplate: Templated } }>(kinds.CronJob);
    return cronJob && startSettings(cronJob.spec.jobTemplate.spec.template).envSecret;
  };
  await change({ runRequests: [request(1)] });
  const [first] = runs();
  t.equal(scheduled(), first);
  t.same(environments(), { [first ?? '']: { A: '1' } });

  await change(env({ A: '2' }));
  const second = scheduled();
  t.not(second, first, 'the next run uses it');
  t.same(runs(), [first], 'a run in progress keeps its own');
  await clock.advance(61_000);
  await reconcile();
  t.equal(Object.keys(environments()).length, 2);
  await endRuns(kube);
  t.match(await change(env({ A: '3' })), { requeueAfterMs: 60_000 }, 'the cluster may not have seen it yet');
  t.equal(Object.keys(environments()).length, 3);
  await clock.advance(60_000);
  await reconcile();
  t.same(environments(), { [scheduled() ?? '']: { A: '3' } });
});

t.test('a single-pod volume moves from pod to pod, and the function has at most one pod', async (t) => {
  const { kube, change, deployment, reconcile, hello } = await world();
  const volume: KubeObject & { spec: object } = {
    apiVersion: ref.apiVersion,
    kind: 'Volume',
    metadata: { name: 'data', namespace },
    spec: { size: '1Gi', accessMode: 'ReadWriteOnce' },
  };
  kube.seed(volume);
  await reconcile();
  t.match(deployment().spec, { strategy: { type: 'RollingUpdate' } });
  const volumes = [{ name: 'data', path: '/data' }];
  await t.rejects(change({ volumes, maxReplicas: 2 }), {
    code: 'invalid_value',
    details: { field: 'maxReplicas', volume: 'data' },
  });
  t.match((await hello()).status, { phase: 'failed', message: /a function that mounts it can have at most 1 replica/ });
  await change({ volumes, maxReplicas: null });
  t.match(deployment().spec, {
    strategy: { type: 'Recreate' },
    template: {
      spec: {
        securityContext: { fsGroup: 10_001 },
        containers: [{ volumeMounts: [{}, {}, { name: 'volume-data', mountPath: '/data' }] }],
        volumes: [{}, {}, { persistentVolumeClaim: { claimName: 'data' } }],
      },
    },
  });
});

t.test('no pod starts before the secrets of the create request are stored', async (t) => {
  const { hello, reconcile, kube, clock, environments } = await world(env({ URL: 'x?key=${KEY}' }));
  await kube.mergePatch(ref, { metadata: { annotations: { [secretsExpectedAnnotation]: 'true' } } });
  await t.rejects(reconcile(), { name: 'NotYetError', message: /svc function secret set hello/ });
  t.same(kube.all(kinds.Deployment), []);
  await createSecretStore({ kube, clock }).create(await hello(), [{ name: 'KEY', value: 'hush' }]);
  // The API may end before it removes the annotation.
  await reconcile();
  t.match(Object.values(environments()), [{ KEY: 'hush', URL: 'x?key=hush' }]);
});
