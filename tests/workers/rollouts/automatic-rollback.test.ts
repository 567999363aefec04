import t, { type Test } from 'tap';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { transaction } from '../../../runtime/db/pool.ts';
import type { Id } from '../../../runtime/domain/ids.ts';
import { idLabel, releaseAnnotation, roleLabel } from '../../../runtime/domain/labels.ts';
import type { Secret } from '../../../runtime/workloads/owned-secret.ts';
import { acceptDeployment } from '../../../runtime/records/acceptance.ts';
import { findCrashLog } from '../../../runtime/records/crash-logs.ts';
import { findRevision } from '../../../runtime/records/revisions.ts';
import { createRolloutProcessor } from '../../../workers/rollouts/process.ts';
import { fakeKube, saying } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';
import { namespace, testApp } from './rollout-world.ts';

const digest = (character: string) => `sha256:${character.repeat(64)}`;

async function world(t: Test) {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  const app = await testApp(pool, kube, 'api');
  const crash = { at: '' };
  const process = createRolloutProcessor({
    pool,
    kube,
    failpoint(name) {
      if (name === crash.at) throw new Error(`killed at ${name}`);
    },
  });
  const step = (recordId: Id | undefined, { last = false } = {}) =>
    process({ recordId: recordId ?? '', attempt: 1, last, signal: new AbortController().signal, log: silentLog });
  const change = (spec: object) => kube.mergePatch<App>({ ...kinds.App, namespace, name: 'api' }, { spec });
  const seed = (object: KubeObject & { status: object }) => kube.seed(object);
  const pod = (name: string, revision: number, { imageID = '', ready = true, restarts = 0 }) =>
    seed({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name,
        namespace,
        labels: { [idLabel]: app.id, [roleLabel]: 'serve' },
        annotations: { [releaseAnnotation]: String(revision) },
      },
      status: {
        conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
        containerStatuses: [{ name: 'app', ready, restartCount: restarts, imageID }],
      },
    });
  const settle = async (id: Id | undefined, phase: 'available' | 'failed') => {
    await step(id);
    await app.report({ phase, ...(phase === 'failed' && { message: 'It crashes.' }) });
    await step(id);
  };
  const deploy = async (image: string, phase: 'available' | 'failed' = 'available') => {
    const id = await app.accept(image);
    await settle(id, phase);
    return id;
  };
  const newest = async () => (await app.history())[0];
  const back = (rollbackOf: number, restores?: 'config') =>
    transaction(pool, (client) =>
      acceptDeployment(client, { workloadId: app.id, trigger: 'rollback', image: 'r/api:1', rollbackOf, restores }),
    ).then(({ id }) => id);
  return { pool, kube, app, crash, step, change, pod, settle, deploy, newest, back };
}

t.test('the digest is the one that all pods run, and a rollback uses it', async (t) => {
  const { app, pod, deploy, newest, settle } = await world(t);
  pod('one', 1, { imageID: `registry.test/r/api@${digest('a')}` });
  pod('other', 2, { imageID: `registry.test/r/api@${digest('f')}` });
  await deploy('r/api:1');
  t.match(await newest(), { digest: digest('a') });
  await deploy('r/api:2', 'failed');
  t.match(await newest(), { revision: 3, automatic: true, digest: digest('a') });
  await settle((await newest())?.id, 'available');
  t.match((await app.object()).spec.release, { generation: 3, image: 'r/api:1', digest: digest('a') });

  pod('four-a', 4, { imageID: `r/api@${digest('b')}` });
  pod('four-b', 4, { imageID: `r/api@${digest('c')}` });
  await deploy('r/api:4');
  t.match(await newest(), { state: 'succeeded', digest: null }, 'a tag that was moved since');
  pod('five', 5, { imageID: digest('b') });
  await deploy('r/api:5');
  t.match(await newest(), { digest: null }, 'a local image id is not a digest');
  await deploy(`r/api@${digest('d')}`);
  t.match(await newest(), { digest: digest('d') }, 'known without a look-up');
});

t.test('a failure quotes the worst pod’s log, within a limit and without control characters', async (t) => {
  const { pool, kube, app, pod, deploy } = await world(t);
  await deploy('r/api:1');
  pod('fine', 2, {});
  pod('young', 2, { ready: false });
  pod('worst', 2, { ready: false, restarts: 4 });
  const requests: string[] = [];
  kube.stream = saying((path) => {
    requests.push(path);
    return `${'early\n'.repeat(400)}\u001b[31mError: \u0000no\u001b[0m\n\n${'x'.repeat(5000)}\n`;
  });
  await deploy('r/api:2', 'failed');
  const failed = (await app.history())[1];
  t.match(failed?.reason, /^It crashes\.\nThe last lines of its log:\nearly\n[^]*\nError: {2}no\nx{200}$/);
  t.ok((failed?.reason ?? '').length < 1_300);
  t.match(requests, [/pods\/worst\/log\?container=app&tailLines=1000$/]);
  t.match(failed && (await findCrashLog(pool, failed.id)), {
    pod: 'worst',
    truncated: false,
    text: /^early\n[^]*x{5000}\n$/,
  });
  kube.stream = saying(() => `${'x'.repeat(100_000)}\nError: no\n`);
  pod('later', 4, { ready: false });
  await deploy('r/api:3', 'failed');
  t.match((await app.history())[1]?.reason, /Error: no$/, 'after a line that is longer than the excerpt');
  kube.stream = saying(() => Promise.reject(new Error('connection refused')));
  await deploy('r/api:4', 'failed');
  t.match((await app.history())[1], { state: 'failed', reason: 'It crashes.' }, 'it ends without its log');
});

t.test('no rollback when the app turns it off', async (t) => {
  const { change, deploy, newest } = await world(t);
  await deploy('r/api:1');
  await change({ autoRollback: false });
  const failed = await deploy('r/api:2', 'failed');
  t.match(await newest(), { id: failed, state: 'failed', rolledBackTo: null });
});

t.test('a rollout that keeps failing is rolled back if the release is set and autoRollback is on', async (t) => {
  const { app, crash, change, deploy, newest, step } = await world(t);
  await deploy('r/api:1');
  crash.at = 'rollout.applied';
  await step(await app.accept('r/api:2'), { last: true });
  t.match(await app.history(), [
    { automatic: true, rollbackOf: 1 },
    { state: 'failed', rolledBackTo: 1 },
  ]);
  crash.at = 'rollout.recorded';
  await change({ autoRollback: false });
  const failed = await app.accept('r/api:4');
  await step(failed, { last: true });
  t.match(await newest(), { id: failed, state: 'failed', rolledBackTo: null });
});

t.test('a rollback runs in the earlier environment, and does not change the settings', async (t) => {
  const { kube, app, change, deploy, newest, settle } = await world(t);
  await change({ env: [{ name: 'A', value: 'good' }] });
  await deploy('r/api:1');
  const goodSecret = (await app.object()).spec.release?.envSecret;
  await change({ env: [{ name: 'A', value: 'bad' }], port: 9000 });
  await deploy('r/api:1', 'failed');
  await settle((await newest())?.id, 'available');
  const { spec } = await app.object();
  t.match(spec, { port: 9000, env: [{ name: 'A', value: 'bad' }], release: { generation: 3, envSecret: goodSecret } });
  t.match(await newest(), { state: 'succeeded', current: true });

  await deploy('r/api:2', 'failed');
  await kube.delete({ ...kinds.Secret, namespace, name: goodSecret ?? '' });
  await settle((await newest())?.id, 'available');
  t.match(await newest(), { state: 'succeeded' }, 'without it, with the current environment');
});

t.test('a rollback with the configuration writes it with the release, killed at any step', async (t) => {
  const { kube, pool, app, crash, change, deploy, newest, step, back, settle } = await world(t);
  const oldSettings = { port: 8081, memory: '128Mi', env: [{ name: 'A', value: 'one' }], healthPath: '/ready' };
  await change(oldSettings);
  await deploy('r/api:1');
  const envSecret = (await app.object()).spec.release?.envSecret;
  await change({ port: 9000, memory: null, cpu: '500m', healthPath: null, env: null, replicas: 3 });
  await deploy('r/api:2');
  t.equal((await app.object()).spec.release?.envSecret, undefined);

  const id = await back(1, 'config');
  for (const at of ['rollout.before-apply', 'rollout.applied', 'rollout.recorded']) {
    crash.at = at;
    await t.rejects(step(id), new RegExp(at));
    const { spec } = await app.object();
    const applied = at !== 'rollout.before-apply';
    t.equal(spec.port === 8081, applied, at);
    t.equal(spec.release?.generation, applied ? 3 : 2, at);
  }
  crash.at = '';
  await settle(id, 'available');
  const { spec } = await app.object();
  t.match(spec, { ...oldSettings, replicas: 3, release: { envSecret: envSecret } });
  t.notHas(spec, 'cpu');
  t.match(await newest(), { state: 'succeeded', restores: 'config' });
  const otherSettings = { replicas: 3, autoRollback: true, bindings: [] };
  t.match(await findRevision(pool, app.id, 2), { settings: { port: 9000 }, otherSettings });
  t.match(await findRevision(pool, app.id, 3), { settings: oldSettings, otherSettings });

  const secondRollback = await back(1, 'config');
  await kube.delete({ ...kinds.Secret, namespace, name: envSecret ?? '' });
  await step(secondRollback);
  t.match(await newest(), { state: 'failed', reason: /configuration of revision 1 was deleted/ });
  t.equal(kube.all<Secret>(kinds.Secret).length, 0, 'no replacement was created');
});
