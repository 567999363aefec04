import t, { type Test } from 'tap';
import { createAppRoutes } from '../../../functions/apps/handler.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { firstPromotionOf } from '../../../runtime/contracts/resources/promotion.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { secretsExpectedAnnotation, workloadLabels } from '../../../runtime/domain/labels.ts';
import { acceptDeployment } from '../../../runtime/records/acceptance.ts';
import { startDeployment, succeedDeployment } from '../../../runtime/records/deployments.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { createSecretStore, readSecrets } from '../../../runtime/workloads/secrets.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { recordingLog } from '../../support/log.ts';
import { environmentId, platformConfigObject, readyProject } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';

const promote = '/api/v1/projects/shop/apps/api/promote';
const digest = `sha256:${'a'.repeat(64)}`;
const apiVersion = 'platform.svc/v1';
const ask = { from: 'dev', to: 'prod', create: true };

/** The app `api` in `dev`, with every setting that an app can have. */
async function rig(t: Test) {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  kube.seed(platformConfigObject, ...readyProject('shop', ['dev', 'prod']));
  const clock = fakeClock();
  const id = newId();
  const spec = {
    image: 'r.test/api:1',
    port: 3000,
    replicas: 2,
    healthPath: '/up',
    memory: '128Mi',
    cpu: '250m',
    autoRollback: false,
    security: { headers: false, csp: ['https://cdn.test'] },
    gate: { enabled: true },
    hostname: 'api.dev.test',
    extraHosts: ['www.dev.test'],
    git: { url: 'https://git.test/api', branch: 'main' },
    env: [
      { name: 'DSN', value: '${DATABASE_URL}?x' },
      { name: 'KEY', value: '${API_KEY}' },
    ],
    bindings: [{ service: 'orders', prefix: 'DB_', version: 7 }],
    volumes: [
      { name: 'shared', path: '/shared' },
      { name: 'local', path: '/local' },
    ],
  };
  kube.seed({
    apiVersion,
    kind: 'App',
    metadata: { name: 'api', namespace: 'shop-dev', labels: workloadLabels({ kind: 'App', name: 'api', id }) },
    spec,
  });
  const where = { environmentId, project: 'shop', environment: 'dev', namespace: 'shop-dev', name: 'api' };
  await projectWorkload(pool, { id, kind: 'App', gated: false, ...where });
  const store = createSecretStore({ kube, clock });
  const [source] = kube.all<App>(kinds.App);
  if (!source) throw new Error('no app');
  for (const name of ['API_KEY', 'OTHER']) await store.set(source, name, 'of-dev');
  const add = (kind: string, name: string, spec: object, namespace = 'shop-prod') =>
    kube.seed({ apiVersion, kind, metadata: { name, namespace, labels: { 'platform.svc/id': newId() } }, spec });
  const succeed = async () => {
    const commit = { commit: 'abc', commitMessage: 'Fix', branch: 'main' };
    const request = { workloadId: id, trigger: 'webhook', image: 'r.test/api:7', digest, ...commit } as const;
    const { id: deployment } = await acceptDeployment(pool, request);
    await startDeployment(pool, deployment);
    await succeedDeployment(pool, deployment);
  };
  const log = recordingLog();
  const routes = createAppRoutes({ kube, pool, clock, baseUrl: 'http://console.test' });
  const api = await testApi(t, { routes, log: log.log });
  const call = (body: object) => api.call('POST', promote, { body });
  const created = () => kube.get<App>(kinds.App, 'api', 'shop-prod');
  return { kube, log, add, succeed, call, created };
}

t.test('409: an app is not created from another revision than the one that the request names', async (t) => {
  const { succeed, call, created, add } = await rig(t);
  await succeed();
  await succeed();
  add('Service', 'orders', { type: 'postgres' });
  const named = (revision: number) => call({ ...ask, secrets: { API_KEY: 'of-prod' }, revision });
  t.match(await named(1), { status: 409, body: { code: 'conflict', message: /runs revision 2 in "dev" now/ } });
  t.equal(await created(), undefined);
  t.match(await named(2), { status: 201 });
});

t.test('201: the app is created with its settings, and what is not copied is said', async (t) => {
  const { kube, log, add, succeed, call, created } = await rig(t);
  await succeed();
  add('Service', 'orders', { type: 'postgres' });
  add('Volume', 'shared', { size: '1Gi', accessMode: 'ReadWriteMany' });
  const answer = await call({ ...ask, secrets: { API_KEY: 'of-prod' } });
  t.match(answer, {
    status: 201,
    body: {
      app: { name: 'api', environment: 'prod', image: 'r.test/api:7', bindings: [{ service: 'orders' }] },
      notCopied: {
        secrets: ['OTHER'],
        hosts: ['api.dev.test', 'www.dev.test'],
        volumes: [{ name: 'local', path: '/local' }],
        git: 'https://git.test/api',
      },
    },
  });
  const app = await created();
  if (!app) throw new Error('no app');
  const { bindings, ...spec } = app.spec;
  t.same(spec, {
    image: 'r.test/api:7',
    port: 3000,
    replicas: 2,
    healthPath: '/up',
    memory: '128Mi',
    cpu: '250m',
    autoRollback: false,
    security: { headers: false, csp: ['https://cdn.test'] },
    gate: { enabled: true },
    env: [
      { name: 'DSN', value: '${DATABASE_URL}?x' },
      { name: 'KEY', value: '${API_KEY}' },
    ],
    volumes: [{ name: 'shared', path: '/shared' }],
  });
  t.match(bindings, [{ service: 'orders', prefix: 'DB_' }]);
  t.same(firstPromotionOf(app), {
    from: { environment: 'dev', revision: 1 },
    digest,
    commit: 'abc',
    commitMessage: 'Fix',
    branch: 'main',
  });
  t.notHas(app.metadata.annotations, secretsExpectedAnnotation);
  t.match((await readSecrets(kube, app)).secrets, [{ name: 'API_KEY', value: 'of-prod' }]);
  t.notMatch(JSON.stringify([answer.body, kube.all(kinds.App), log.text()]), /of-dev|of-prod/);
});

t.test('it is not created without what it needs, and nothing is left behind', async (t) => {
  const { kube, add, succeed, call, created } = await rig(t);
  const full = { ...ask, secrets: { API_KEY: 'x' } };
  t.match(await call(full), { status: 409, body: { code: 'not_ready', message: /succeeded in "dev"/ } });
  await succeed();
  t.match(await call(ask), {
    status: 422,
    body: { message: /not copied: API_KEY\. .*--secret API_KEY\./, details: { secrets: ['API_KEY'] } },
  });
  const isMissing = async (flags: string) => {
    const message = `The app is bound to the service "orders", which "prod" does not have. Create it first: svc service create orders ${flags} --project shop --environment prod`;
    t.match(await call(full), { status: 404, body: { message } });
  };
  await isMissing('--type <type>');
  add('Service', 'orders', { type: 'postgres' }, 'shop-dev');
  await isMissing('--type postgres');
  await kube.mergePatch(
    { apiVersion, kind: 'Service', namespace: 'shop-dev', name: 'orders' },
    { spec: { external: { host: 'db.test', port: 5432, tls: true } } },
  );
  await isMissing('--type postgres --external <host[:port]>');
  const noCreate = { from: 'dev', to: 'prod' };
  t.match(await call({ ...noCreate, secrets: { API_KEY: 'x' } }), { status: 400, body: { message: /--create/ } });
  t.match(await call(noCreate), {
    status: 404,
    body: {
      message:
        /svc app promote api --from dev --to prod --create --project shop\. Or .*--port 3000 --health-path \/up --project shop --environment prod/,
    },
  });
  add('WorkloadName', 'api', { kind: 'Job', workloadId: newId() });
  add('Service', 'orders', { type: 'postgres' });
  t.match(await call(full), { status: 409, body: { code: 'name_taken' } });
  t.type((await created())?.metadata.deletionTimestamp, 'string');
});

t.test('202: an app that exists is only deployed, and keeps its secrets', async (t) => {
  const { add, succeed, call } = await rig(t);
  await succeed();
  add('App', 'api', { image: 'r.test/api:1', port: 80, replicas: 1 });
  t.match(await call({ ...ask, secrets: { API_KEY: 'x' } }), { status: 409, body: { code: 'already_exists' } });
  t.match(await call(ask), { status: 409, body: { code: 'not_ready' } }, 'its controller has not recorded it yet');
});
