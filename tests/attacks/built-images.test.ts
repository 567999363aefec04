import { join } from 'node:path';
import t, { type Test } from 'tap';
import { createAppRoutes } from '../../functions/apps/handler.ts';
import { createFunctionRoutes } from '../../functions/functions/handler.ts';
import { createJobRoutes } from '../../functions/jobs/handler.ts';
import { createImageStore } from '../../infra/local/node/images.ts';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import { jobSpec } from '../../runtime/contracts/resources/job.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { createRolloutProcessor } from '../../workers/rollouts/process.ts';
import { hookedApp } from '../functions/webhooks/hooked-app.ts';
import { testApi } from '../support/api.ts';
import { fakeClock } from '../support/clock.ts';
import { fakeKube } from '../support/fake-kube.ts';
import { silentLog } from '../support/log.ts';
import { allProjects, platformConfigObject, readyProject, settings } from '../support/objects.ts';
import { testDatabase } from '../support/postgres.ts';
import { testApp } from '../workers/rollouts/rollout-world.ts';
import { editedCluster, refused } from './edited-objects.ts';

const builds = {
  image: 'registry.test/builder:1',
  registry: 'registry.test/builds',
  pushAddress: 'http://10.0.0.5:5000',
  baseImages: {},
};
const digest = `sha256:${'a'.repeat(64)}`;
const config: KubeObject = { ...platformConfigObject, spec: { ...settings, builds } };

/** Spellings of an image that was built for `victim-prod`. */
const spellings = [
  'registry.test/builds/victim-prod/web:1',
  `registry.test/builds/victim-prod/web@${digest}`,
  `registry.test/builds/victim-prod/web:1@${digest}`,
  'registry.test:443/builds/victim-prod/web:1',
  'registry.test:80/builds/victim-prod/web:1',
  '10.0.0.5:5000/builds/victim-prod/web:1',
  '10.5:5000/builds/victim-prod/web:1',
  'registry.test/builds/victim-prod/web/web:1',
];
/** Spellings that the API's grammar refuses, and Kubernetes may accept. */
const strangeSpellings = [
  'REGISTRY.test/builds/victim-prod/web:1',
  'registry.test./builds/victim-prod/web:1',
  'registry.test/builds/victim-prod/web',
  '[::ffff:10.0.0.5]:5000/builds/victim-prod/web:1',
  '[::ffff:a00:5]:5000/builds/victim-prod/web:1',
  'registry.test/x/../builds/victim-prod/web:1',
  'registry.test//builds/victim-prod/web:1',
  'registry.test/builds/./victim-prod/web:1',
  'registry.test/builds/victim%2dprod/web:1',
  'registry.test%2fbuilds/victim-prod/web:1',
  'https://registry.test/builds/victim-prod/web:1',
  ' registry.test/builds/victim-prod/web:1',
];
/** Images that no other project owns. */
const allowed = [
  'registry.test/builds/shop-prod/web:1',
  'registry.test/victim-prod/web:1',
  'registry.test/builds/base:1',
  'registry.test/builds/node/base:1',
  'other.test/builds/victim-prod/web:1',
  'registry.test:5000/builds/victim-prod/web:1',
  'builds/victim-prod/web:1',
  'hello:1',
];

async function api(t: Test) {
  const kube = fakeKube();
  kube.seed(config, ...readyProject('shop', ['prod', 'dev']));
  const { pool } = await testDatabase(t);
  const clock = fakeClock();
  const baseUrl = 'http://console.test';
  const server = await testApi(t, {
    routes: [
      ...createAppRoutes({ kube, pool, clock, baseUrl }),
      ...createFunctionRoutes({ kube, pool, clock, baseUrl, visibleProjects: allProjects(kube) }),
      ...createJobRoutes({ kube, pool, clock, baseUrl }),
    ],
  });
  return {
    kube,
    call: (method: string, path: string, body: object) =>
      server.call(method, `/api/v1/projects/shop/${path}?environment=prod`, { body }),
  };
}

t.test('403: no app, function or job names an image that was built for another project', async (t) => {
  const { call } = await api(t);
  for (const kind of ['apps', 'functions', 'jobs']) {
    t.equal((await call('POST', kind, { name: `own-${kind}`, image: 'hello:1' })).status, 201);
    for (const image of [...spellings, ...strangeSpellings]) {
      const expected = spellings.includes(image)
        ? { status: 403, body: { code: 'image_not_allowed' } }
        : { status: 422, body: { code: 'invalid_value' } };
      t.match(await call('POST', kind, { name: 'thief', image }), expected, `${kind}: ${image}`);
      t.match(await call('PATCH', `${kind}/own-${kind}`, { image }), expected, `${kind}: ${image}`);
    }
  }
});

t.test('images of no project, and images of the environment itself, are allowed', async (t) => {
  const { call } = await api(t);
  for (const [index, image] of allowed.entries()) {
    for (const kind of ['apps', 'functions', 'jobs']) {
      t.match(await call('POST', kind, { name: `own-${kind}-${index}`, image }), { status: 201 }, `${kind}: ${image}`);
    }
  }
});

t.test('an image of another environment of the project follows only a promotion', async (t) => {
  const { kube, call } = await api(t);
  const image = 'registry.test/builds/shop-dev/web:3';
  t.match(await call('POST', 'jobs', { name: 'migrate', image }), { status: 403 });
  t.match(await call('POST', 'apps', { name: 'other', image }), { status: 403 });
  const web = await call('POST', 'apps', { name: 'web', image });
  t.match(web, { status: 201 }, 'the app is created to be promoted to');
  await kube.mergePatch(
    { apiVersion: 'platform.svc/v1', kind: 'App', namespace: 'shop-prod', name: 'web' },
    { spec: { release: { generation: 1, deploymentId: newId(), image } } },
  );
  t.match(await call('POST', 'jobs', { name: 'migrate', image }), { status: 201 }, 'what the app runs');
  t.match(await call('POST', 'jobs', { name: 'thief', image: 'registry.test/builds/shop-two-dev/web:3' }), {
    status: 403,
    body: { code: 'image_not_allowed' },
  });
});

t.test('403: a webhook token does not deploy an image of another project', async (t) => {
  const app = await hookedApp(t, { deployed: true });
  await app.kube.mergePatch(
    { apiVersion: 'platform.svc/v1', kind: 'PlatformConfig', name: 'platform' },
    { spec: { builds } },
  );
  for (const image of spellings) {
    t.match(
      await app.send({ 'x-svc-token': app.token }, { image }),
      { status: 403, body: { code: 'image_not_allowed' } },
      image,
    );
  }
  t.match(await app.send({ 'x-svc-token': app.token }, { image: 'registry.test/builds/shop-dev/api:1' }), {
    status: 403,
  });
  t.match(await app.send({ 'x-svc-token': app.token }, { image: 'registry.test/builds/shop-prod/api:1' }), {
    status: 202,
  });
  t.equal((await app.history()).length, 1, 'nothing else was accepted');
});

t.test('the worker fails a deployment of an image of another project, and applies nothing', async (t) => {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  kube.seed(config);
  const app = await testApp(pool, kube, 'api');
  const process = createRolloutProcessor({ pool, kube, failpoint: () => undefined });
  const step = (recordId: string) =>
    process({ recordId, attempt: 1, last: false, signal: new AbortController().signal, log: silentLog });
  for (const trigger of ['webhook', 'rollback'] as const) {
    await step(await app.accept('registry.test/builds/victim-prod/web:1', trigger));
    t.match(await app.history(), [{ state: 'failed', reason: /is reserved for the environment/ }]);
    t.notOk((await app.object()).spec.release);
  }
  await step(await app.accept('registry.test/builds/shop-dev/api:1'));
  t.match((await app.object()).spec.release, { image: 'registry.test/builds/shop-dev/api:1' }, 'a promotion');
});

t.test('an object that is written with kubectl does not run an image of another project', async (t) => {
  const place = (name: string) => ({ name, namespace: 'shop-prod' });
  const apiVersion = 'platform.svc/v1';
  for (const image of [...spellings, ...strangeSpellings]) {
    const release = { generation: 1, deploymentId: newId(), image };
    const { kube, statusOf } = await editedCluster(
      t,
      { builds },
      { apiVersion, kind: 'App', metadata: place('first'), spec: { image, port: 8080, replicas: 1 } },
      { apiVersion, kind: 'App', metadata: place('released'), spec: { image: '', port: 8080, replicas: 1, release } },
      {
        apiVersion,
        kind: 'Function',
        metadata: place('fn'),
        spec: { trigger: 'http', port: 8080, idleTimeoutSeconds: 300, image },
      },
      { apiVersion, kind: 'Job', metadata: place('job'), spec: jobSpec.parse({ image, schedule: '* * * * *' }) },
    );
    const problem = refused('ChildReconcileFailed', /reserved for the environment|is not .*image reference/);
    t.match(statusOf(kinds.App, 'first'), problem, `App: ${image}`);
    t.match(statusOf(kinds.App, 'released'), problem, `release: ${image}`);
    t.match(statusOf(kinds.Function, 'fn'), problem, `Function: ${image}`);
    t.match(statusOf(kinds.Job, 'job'), problem, `Job: ${image}`);
    for (const kind of [kinds.Deployment, kinds.CronJob, kinds.BatchJob]) t.same(kube.all(kind), [], image);
  }
});

t.test('the embedded image store finds a built image by its digest only under its own name', async (t) => {
  const folder = t.testdir({ files: { secret: 'x' }, other: { program: 'y' } });
  const root = join(folder, 'images');
  const store = createImageStore(root);
  const secret = await store.add(join(folder, 'files'), 'localhost:5000/builds/victim-prod/web:1', {});
  const own = await store.add(join(folder, 'other'), 'hello:1', {});
  for (const name of ['hello', 'x', 'localhost:5000/builds/shop-prod/web', 'LOCALHOST:5000/builds/victim-prod/web']) {
    t.notOk(await store.find(`${name}@${secret.digest}`), name);
    t.notOk(await store.find(`${name}:1@${secret.digest}`), name);
  }
  t.ok(await store.find(`localhost:5000/builds/victim-prod/web@${secret.digest}`));
  t.ok(await store.find(`localhost:5000/builds/victim-prod/web:9@${secret.digest}`));
  await store.add(join(folder, 'files'), 'hello:1', { env: { A: '1' } });
  t.ok(await store.find(`hello:1@${own.digest}`), 'an earlier image of a tag that has moved');
  t.ok(await store.find(`other@${own.digest}`), 'the operator’s images are usable by all');
  t.notOk(await store.find('hello@sha256:../../../secret'));
});
