import t from 'tap';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Secret } from '../../../runtime/workloads/owned-secret.ts';
import { ensureEnvironmentSecret, withEnvironmentSecret } from '../../../runtime/workloads/environment.ts';
import { namespace, setUp } from './app-world.ts';

t.test('a change of settings shows as deploying until the pods have it, and creates no revision', async (t) => {
  const { create, pass, release, observe, ready, change } = await setUp(t);
  await create();
  await pass();
  const deploymentId = await release(1);
  await pass();
  await observe(ready);
  t.match((await pass()).app?.status, { phase: 'running', release: { phase: 'available' } });
  await change({ memory: '256Mi' });
  t.match((await pass()).app?.status, { phase: 'deploying', release: { phase: 'progressing', deploymentId } });
  await observe({ ...ready, replicas: 2, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 });
  t.match((await pass()).app?.status, { phase: 'deploying' });
  await observe(ready);
  t.match((await pass()).app?.status, {
    phase: 'running',
    release: { phase: 'available', generation: 1, deploymentId },
  });
  await change({ replicas: 3 });
  t.match(
    (await pass()).app?.status,
    { phase: 'running', readyReplicas: 1, release: { phase: 'available' } },
    'more replicas of the same pods do not show as deploying',
  );
});

t.test('an app with a single-pod volume has one replica, and the old pod stops first', async (t) => {
  const { create, pass, release, kube, change } = await setUp(t);
  const volume = (name: string, accessMode: string): KubeObject => ({
    apiVersion: kinds.Volume.apiVersion,
    kind: 'Volume',
    metadata: { name, namespace },
    spec: { size: '1Gi', accessMode },
  });
  kube.seed(volume('single', 'ReadWriteOnce'), volume('shared', 'ReadWriteMany'));
  const strategy = () => (kube.all(kinds.Deployment)[0]?.spec as { strategy?: { type: string } } | undefined)?.strategy;
  await create('api', { volumes: [{ name: 'shared', path: '/a' }], replicas: 2 });
  await pass();
  await release(1);
  await pass();
  t.match(strategy(), { type: 'RollingUpdate' });
  await change({ replicas: 1, volumes: [{ name: 'single', path: '/a' }] });
  await pass();
  t.same(strategy(), { type: 'Recreate' });
  // With kubectl, without the API's check.
  await change({ replicas: 2 });
  await t.rejects(pass(), { code: 'invalid_value' });
  const { app } = { app: (await pass().catch(() => undefined))?.app ?? kube.all(kinds.App)[0] };
  t.match(app?.status, { phase: 'failed', message: /"single" is ReadWriteOnce/ });
  t.match(kube.all(kinds.Deployment)[0]?.spec, { replicas: 1 }, 'the running pods are unchanged');
  await change({ replicas: 1 });
  await pass();
  t.notMatch(kube.all(kinds.App)[0]?.status, { phase: 'failed' });
});

t.test('the environment of an earlier release is deleted once no pod uses it', async (t) => {
  const { create, pass, release, observe, ready, kube, app } = await setUp(t);
  await create();
  await pass();
  for (const [generation, name] of ['app-api-env-one', 'app-api-env-two'].entries()) {
    const live = await app();
    await ensureEnvironmentSecret(kube, live, { name, variables: [{ name: 'A', value: name }] }, generation + 1);
    await release(generation + 1);
    const released = await app();
    const annotations = withEnvironmentSecret(released, name);
    const spec = { release: { ...released.spec.release, envSecret: name } };
    await kube.mergePatch({ ...kinds.App, namespace, name: 'api' }, { metadata: { annotations }, spec });
    await pass();
    t.equal(kube.all<Secret>(kinds.Secret).length, generation + 1, 'not while the rollout is in progress');
    await observe(ready);
    await pass();
  }
  t.match(kube.all(kinds.Secret), [{ metadata: { name: 'app-api-env-two' } }]);
  t.match(kube.all(kinds.Deployment)[0]?.spec, {
    template: { spec: { containers: [{ envFrom: [{ secretRef: { name: 'app-api-env-two' } }] }] } },
  });
});
