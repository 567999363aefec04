import t from 'tap';
import { functionDeployment, type FunctionDeployment } from '../../../infra/manifests/function.ts';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import {
  mergedDeployment as mergedWithReport,
  newestPods,
  startSettings,
} from '../../../workers/controllers/function-settings.ts';

const hello = { id: '0190a0a0-0000-7000-8000-000000000001', name: 'hello', namespace: 'shop-prod' };
const image = 'registry.test/node:1';
const spec = { runtime: 'node' as const, code: 'first', port: 8080 };

type Spec = Parameters<typeof functionDeployment>[1];

function live(replicas: number, deployment: FunctionDeployment): Stored<FunctionDeployment> {
  return {
    ...deployment,
    metadata: { ...deployment.metadata, uid: 'u', resourceVersion: '1', generation: 1 },
    spec: { ...deployment.spec, replicas },
  };
}

const functionWith = (change: Partial<Spec>, envSecret?: string) =>
  functionDeployment(hello, { ...spec, ...change }, { image, envSecret });
/** The function's last status shows its pods. */
const mergedDeployment = (running: Stored<FunctionDeployment>, now: FunctionDeployment) =>
  mergedWithReport(running, now, running.spec.replicas);
const settingsOf = ({ spec: { template } }: FunctionDeployment) => startSettings(template);

t.test('running pods keep their environment and limits; at zero replicas the latest apply', (t) => {
  const before = functionWith({ memory: '64Mi' }, 'function-hello-env-1');
  const now = functionWith({ memory: '128Mi', cpu: '0.5' }, 'function-hello-env-2');
  const oldSettings = { envSecret: 'function-hello-env-1', memory: '64Mi' };
  const newSettings = { envSecret: 'function-hello-env-2', memory: '128Mi', cpu: '500m' };
  t.same(settingsOf(mergedDeployment(live(2, before), now)), oldSettings);
  t.equal(mergedDeployment(live(2, before), now).spec.replicas, 2);
  t.same(settingsOf(mergedDeployment(live(0, before), now)), newSettings);
  t.equal(mergedDeployment(live(0, before), now).spec.replicas, 0);
  t.same(
    settingsOf(mergedDeployment(live(1, functionWith({})), now)),
    { memory: '256Mi' },
    'without a Secret, none is added',
  );
  t.same(settingsOf(mergedDeployment(live(1, before), functionWith({}))), oldSettings, 'a removed one stays removed');
  t.end();
});

t.test('pods that started from zero since the last report get the current settings', (t) => {
  const before = functionWith({ memory: '64Mi' });
  const now = functionWith({ memory: '128Mi' }, 'function-hello-env-2');
  const newSettings = { envSecret: 'function-hello-env-2', memory: '128Mi' };
  t.same(settingsOf(mergedWithReport(live(1, before), now, 0)), newSettings);
  t.equal(mergedWithReport(live(1, before), now, 0).spec.replicas, 1);
  t.same(settingsOf(mergedWithReport(live(2, before), now, 1)), { memory: '64Mi' }, 'those in the report keep theirs');
  t.end();
});

t.test('any other change that replaces pods applies them too', (t) => {
  const before = functionWith({ memory: '64Mi' }, 'function-hello-env-1');
  const newSettings = { envSecret: 'function-hello-env-2', memory: '256Mi' };
  const restartedAt = '2026-11-22T10:00:00.000Z';
  const envSecret = 'function-hello-env-2';
  t.same(settingsOf(mergedDeployment(live(1, before), functionWith({ restartedAt }, envSecret))), {
    ...newSettings,
    restartedAt,
  });
  t.same(settingsOf(mergedDeployment(live(1, before), functionWith({ code: 'second' }, envSecret))), newSettings);
  t.same(
    settingsOf(mergedDeployment(live(1, before), functionWith({ volumes: [{ name: 'd', path: '/d' }] }, envSecret))),
    newSettings,
  );
  t.end();
});

t.test('changed limits apply with the next scale-up, together with all other pending changes', (t) => {
  const secrets = { old: 'function-hello-env-1', new: 'function-hello-env-2' };
  const now = functionWith({ memory: '128Mi' }, secrets.new);
  const newSettings = { envSecret: secrets.new, memory: '128Mi' };
  const oldSettings = { envSecret: secrets.old, memory: '64Mi' };
  let deployment = live(2, functionWith({ memory: '64Mi' }, secrets.old));
  const replacements: object[] = [];
  /** A pass after the number of replicas changed to `replicas`. */
  const pass = (replicas: number, settings = now) => {
    const written = mergedDeployment(live(replicas, deployment), settings);
    deployment = live(replicas, written);
    replacements.push(settingsOf(written));
    return settingsOf(written);
  };
  for (const replicas of [2, 2, 1, 1]) t.same(pass(replicas), oldSettings, `with ${replicas}`);
  t.same(pass(2), newSettings, 'more than before');
  t.same(mergedDeployment(deployment, now).metadata.annotations, { 'platform.svc/waiting-limits': '' });

  const later = functionWith({ memory: '256Mi' }, secrets.new);
  t.same(pass(2, later), newSettings, 'the recorded time of earlier limits is ignored');
  t.same(pass(1, later), newSettings);
  t.same(
    pass(1, functionWith({ memory: '512Mi' }, secrets.new)),
    newSettings,
    'the newest change counts from its own time',
  );
  t.match(pass(3, functionWith({ memory: '512Mi' }, secrets.new)), { memory: '512Mi' });

  t.same(
    pass(4, functionWith({ memory: '512Mi' }, secrets.old)),
    { envSecret: secrets.new, memory: '512Mi' },
    'variables wait',
  );
  t.end();
});

t.test('of pods that were created in the same second, the newest have the current template', (t) => {
  const podOf = (name: string, { spec: { template } }: FunctionDeployment, createdAt = '2026-11-27T18:21:48Z') =>
    ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        ...template.metadata,
        labels: { ...template.metadata.labels, 'pod-template-hash': name },
        name,
        namespace: hello.namespace,
        uid: name,
        resourceVersion: '1',
        creationTimestamp: createdAt,
      },
      spec: { ...template.spec, containers: containersOn(template.spec), nodeName: 'node-1' },
    }) as unknown as Stored<Pod>;
  /** With ports of the node, as on the embedded cluster. */
  const containersOn = ({ containers }: Record<string, unknown>) =>
    (containers as object[]).map((container) => ({ ...container, env: [], ports: [{ containerPort: 20_001 }] }));
  const versions = ['first', 'second', 'third'].map((code) => functionWith({ code }));
  const current = live(1, functionWith({ code: 'third' }));
  current.status = { observedGeneration: 1, replicas: 3, updatedReplicas: 1 };
  const newest = (pods: Stored<Pod>[]) => newestPods(current, pods).map(({ metadata }) => metadata.name);
  const pods = versions.map((version, number) => podOf(`pod-${number}`, version));
  t.same(newest(pods), ['pod-2']);
  t.same(newest(pods.toReversed()), ['pod-2']);
  t.same(newest(pods.slice(0, 2)), [], 'it is not in the cache yet');
  t.same(newest([...pods.slice(1), podOf('later', current, '2026-11-27T18:21:49Z')]), ['later']);
  t.end();
});
