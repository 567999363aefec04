import t from 'tap';
import { createAppRoutes } from '../../../functions/apps/handler.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import type { ServiceResource } from '../../../runtime/contracts/resources/service.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { secretsExpectedAnnotation, workloadLabels } from '../../../runtime/domain/labels.ts';
import type { Secret } from '../../../runtime/workloads/owned-secret.ts';
import { resolvedEnvironment } from '../../../runtime/workloads/environment.ts';
import { readSecrets } from '../../../runtime/workloads/secrets.ts';
import { endDeployment, listDeployments, startDeployment } from '../../../runtime/records/deployments.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { recordingLog } from '../../support/log.ts';
import { environmentId, seedShop } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';

const apps = '/api/v1/projects/shop/apps';
const path = `${apps}/api`;
const image = 'registry.test/shop/api:v1';
const namespace = 'shop-prod';

async function service(t: { teardown(end: () => unknown): void }, env?: Record<string, string>) {
  const kube = fakeKube({ checkNamespaces: true });
  seedShop(kube);
  const { pool } = await testDatabase(t);
  const log = recordingLog();
  const routes = createAppRoutes({ kube, pool, clock: fakeClock(), baseUrl: 'http://console.test' });
  const api = await testApi(t, { routes, log: log.log });
  const created = await api.call('POST', apps, { body: { name: 'api', image, ...(env && { env }) } });
  const app = async () => {
    const app = await kube.get<App>(kinds.App, 'api', namespace);
    if (!app) throw new Error('no app');
    return app;
  };
  const setEnv = (body: object) => api.call('PATCH', `${path}/env`, { body });
  const setSecret = (name: string, value: string) => api.call('PUT', `${path}/secrets/${name}`, { body: { value } });
  /** Does what the rollout step does. */
  const release = async (generation: number) => {
    const current = await app();
    const { spec } = current;
    const environment = resolvedEnvironment(current, spec.env ?? [], await readSecrets(kube, current));
    const next = { generation, deploymentId: newId(), image, ...(environment && { envSecret: environment.name }) };
    await kube.mergePatch({ ...kinds.App, namespace, name: 'api' }, { spec: { release: null } });
    await kube.mergePatch({ ...kinds.App, namespace, name: 'api' }, { spec: { release: next } });
  };
  const pending = async () => {
    const [secret, env] = [await api.call('GET', path), await api.call('GET', `${path}/env`)];
    if (secret.body.pendingRestart !== env.body.pendingRestart) throw new Error('two answers');
    return secret.body.pendingRestart as boolean;
  };
  return { kube, pool, api, log, created, app, setEnv, setSecret, release, pending };
}

t.test('201 and 422: an app is created with variables that resolve', async (t) => {
  const { created, app, api } = await service(t, { URL: 'http://${HOST}', HOST: 'h' });
  t.equal(created.status, 201);
  t.same(created.body.env, { HOST: 'h', URL: 'http://${HOST}' });
  t.same((await app()).spec.env, [
    { name: 'HOST', value: 'h' },
    { name: 'URL', value: 'http://${HOST}' },
  ]);
  const refused: [Record<string, string>, RegExp][] = [
    [{ A: '${B}', B: '${A}' }, /A → B → A/],
    [{ A: '${NONE}' }, /"NONE", which is not set/],
    [{ A: '${PORT}' }, /differs between pods/],
    [{ PORT: '1' }, /set by the platform/],
    [{ SVC_MODE: '1' }, /set by the platform/],
    [{ SVC_X: '2' }, /"SVC_X" is reserved/],
    [{ 'a b': '1' }, /valid variable name/],
    [{ A: '${' }, /invalid \$\{…\}/],
  ];
  for (const [env, message] of refused) {
    const answer = await api.call('POST', apps, { body: { name: 'bad', image, env } });
    t.match(answer, { status: 422, body: { code: 'invalid_value', message, details: { field: 'env' } } });
  }
  t.equal((await api.call('GET', `${apps}/bad`)).status, 404);
});

t.test('200: variables are set and removed one by one, also during concurrent changes', async (t) => {
  const { kube, api, app, setEnv } = await service(t);
  t.same((await api.call('GET', `${path}/env`)).body, { variables: {}, pendingRestart: false });
  t.same((await setEnv({ A: '1', B: '${A}' })).body, { variables: { A: '1', B: '${A}' }, pendingRestart: false });
  t.same((await setEnv({ A: '2', C: '' })).body.variables, { A: '2', B: '${A}', C: '' });
  t.match(await setEnv({ A: null }), { status: 422, body: { message: /"B" refers to "A"/ } });
  t.match(await setEnv({ NONE: null }), { status: 404 });
  t.match(await setEnv({}), { status: 400 });
  t.same((await setEnv({ A: null, B: null, C: null })).body.variables, {});
  t.equal((await app()).spec.env, undefined);

  let conflicts = 3;
  kube.intercept = async ({ verb, kind }) => {
    if (verb !== 'mergePatch' || kind !== 'App' || conflicts === 0) return;
    const name = `OTHER${conflicts--}`;
    t.equal((await setEnv({ [name]: 'x' })).status, 200);
  };
  t.equal((await setEnv({ MINE: 'x' })).status, 200);
  kube.intercept = undefined;
  t.same(
    (await app()).spec.env?.map(({ name }) => name),
    ['MINE', 'OTHER1', 'OTHER2', 'OTHER3'],
  );
});

t.test('200: PATCH of the app replaces all variables', async (t) => {
  const { api, setEnv, setSecret } = await service(t, { A: '1' });
  t.same((await api.call('PATCH', path, { body: { env: { B: '2' } } })).body.env, { B: '2' });
  t.same((await api.call('PATCH', path, { body: { env: {} } })).body.env, {});
  await setSecret('S', 'x');
  t.match(await api.call('PATCH', path, { body: { env: { B: '${S}' } } }), { status: 200 });
  t.match(await api.call('PATCH', path, { body: { env: { B: '${T}' } } }), { status: 422 });
  t.match(await setEnv({ S: 'hidden' }), { status: 409, body: { code: 'already_exists', message: /secret "S"/ } });
  t.same((await api.call('GET', `${path}/env`)).body.variables, { B: '${S}' });
});

t.test('secrets: lists show names, only an admin sees a value, and no log ever has one', async (t) => {
  const { api, setSecret, log, kube } = await service(t);
  t.same((await api.call('GET', `${path}/secrets`)).body, { items: [] });
  t.match(await setSecret('B', 'hunter2'), { status: 200, body: { name: 'B', hasPrevious: false } });
  await setSecret('A', 'first-value');
  t.match((await setSecret('B', 'correct-horse')).body, { name: 'B', hasPrevious: true });
  const list = await api.call('GET', `${path}/secrets`);
  t.match(list.body.items, [
    { name: 'A', hasPrevious: false },
    { name: 'B', hasPrevious: true },
  ]);
  t.same(Object.keys(list.body.items[0]).sort(), ['hasPrevious', 'name', 'updatedAt']);
  const secret = await api.call('GET', `${path}/secrets/B`);
  t.match(secret.body, { name: 'B', value: 'correct-horse', hasPrevious: true });
  t.equal(secret.headers.get('cache-control'), 'no-store');
  t.match((await api.call('POST', `${path}/secrets/B/restore`)).body, { name: 'B', hasPrevious: true });
  t.equal((await api.call('GET', `${path}/secrets/B`)).body.value, 'hunter2');
  t.match(await api.call('POST', `${path}/secrets/A/restore`), { status: 409, body: { code: 'conflict' } });
  t.equal((await api.call('DELETE', `${path}/secrets/A`)).status, 204);
  for (const [method, below] of [
    ['GET', 'A'],
    ['DELETE', 'A'],
    ['POST', 'A/restore'],
  ] as const)
    t.equal((await api.call(method, `${path}/secrets/${below}`)).status, 404);
  t.match(await setSecret('a-b', 'x'), { status: 422 });
  t.match(await setSecret('LARGE', 'x'.repeat(65_537)), { status: 400 });

  const audit = log.entries.filter(({ msg, action }) => msg === 'audit' && String(action).startsWith('secret.'));
  const reveals = audit.filter(({ action }) => action === 'secret.reveal');
  t.match(reveals, [
    {
      action: 'secret.reveal',
      actor: 'admin@svc.local',
      project: 'shop',
      environment: 'prod',
      app: 'api',
      secret: 'B',
    },
    {},
  ]);
  t.match(
    audit
      .filter(({ action }) => action !== 'secret.reveal')
      .map(({ action, secret }) => `${String(action)} ${String(secret)}`),
    ['secret.set B', 'secret.set A', 'secret.set B', 'secret.restore B', 'secret.delete A'],
  );
  t.notMatch(log.text(), /hunter2|correct-horse|first-value/);
  t.notMatch(JSON.stringify([...kube.all(kinds.App), (await api.call('GET', path)).body]), /hunter2|correct-horse/);
});

t.test('409: a secret that a variable refers to cannot be removed', async (t) => {
  const { api, setEnv, setSecret } = await service(t);
  await setSecret('PASSWORD', 'x');
  await setEnv({ URL: 'db://u:${PASSWORD}@h', NOT: '$${PASSWORD}' });
  t.match(await api.call('DELETE', `${path}/secrets/PASSWORD`), {
    status: 409,
    body: { code: 'in_use', message: /The variable URL refers to the secret/, details: { variables: ['URL'] } },
  });
  await setEnv({ URL: null });
  t.equal((await api.call('DELETE', `${path}/secrets/PASSWORD`)).status, 204);
});

t.test('scaling from zero reports the variables that its pods do not get before a restart', async (t) => {
  const { setEnv, setSecret, release, api } = await service(t, { A: '1' });
  const scale = async (replicas: number) => {
    const { status, body } = await api.call('PATCH', path, { body: { replicas } });
    t.match({ status, body }, { status: 200, body: { replicas } });
    return body.pendingRestart as boolean;
  };
  await release(1);
  t.equal(await scale(0), false);
  t.equal(await scale(1), false, 'nothing has changed');
  for (const [generation, change] of [() => setEnv({ A: '2' }), () => setSecret('S', 'x')].entries()) {
    await scale(0);
    await change();
    t.equal(await scale(1), true);
    await release(generation + 2);
    t.equal(await scale(1), false);
  }
});

t.test('changes that wait for a restart are shown until a release has them', async (t) => {
  const { kube, setEnv, setSecret, release, pending, api } = await service(t, { A: '1' });
  t.equal(await pending(), false, 'before the first release nothing waits');
  await release(1);
  t.equal(await pending(), false);
  await setEnv({ B: '2' });
  t.equal(await pending(), true);
  await setEnv({ B: null });
  t.equal(await pending(), false, 'reverted');
  await setSecret('S', 'x');
  t.equal(await pending(), true);
  await release(2);
  t.equal(await pending(), false);
  await setSecret('S', 'y');
  t.equal(await pending(), true);
  t.equal((await api.call('PATCH', path, { body: { replicas: 2 } })).body.pendingRestart, true);
  t.equal((await api.call('GET', apps)).body.items[0].pendingRestart, undefined, 'lists read no Secrets');
  await release(3);
  await api.call('DELETE', `${path}/secrets/S`);
  await setEnv({ A: null });
  t.equal(await pending(), true, 'for any environment');
  await release(4);
  t.equal(await pending(), false);
  // Written directly, without the API's checks.
  await kube.mergePatch({ ...kinds.App, namespace, name: 'api' }, { spec: { env: [{ name: 'A', value: '${NONE}' }] } });
  t.equal(await pending(), true);
  t.equal(kube.calls.filter(({ verb, kind }) => verb === 'list' && kind === 'Secret').length, 0);
});

t.test('202: a restart deploys the newest image again; 409 before the first', async (t) => {
  const { api, pool, app, created } = await service(t);
  t.match(await api.call('POST', `${path}/restart`), { status: 409, body: { code: 'not_ready' } });
  const id = created.body.id as string;
  const where = { environmentId, project: 'shop', environment: 'prod', namespace, name: 'api' };
  await projectWorkload(pool, { id, kind: 'App', gated: false, ...where });
  t.match(await api.call('POST', `${path}/restart`), { status: 409, body: { code: 'not_ready' } });
  const deploy = async (body: object) => (await api.call('PATCH', path, { body })).body.id as string;
  const end = async (deployment: string, state: 'failed') => {
    await startDeployment(pool, deployment);
    await endDeployment(pool, deployment, state, 'no');
  };
  const first = await deploy({ image: 'r/api:1', commit: 'abc' });
  await startDeployment(pool, first);
  await pool.query(`UPDATE deployments SET commit_message = 'A change', commit_author = 'Kim', branch = 'main'`);
  // During a rollout: the same image, not the one before, and an accepted deployment is not lost.
  const answer = await api.call('POST', `${path}/restart`);
  t.match(answer, { status: 202, body: { revision: 2, status: 'accepted' } });
  t.equal(answer.headers.get('location'), answer.body.statusUrl);
  const failed = await deploy({ image: 'r/api:2' });
  await end(failed, 'failed');
  await api.call('POST', `${path}/restart`);
  t.match(await listDeployments(pool, id, { limit: 10 }), [
    { revision: 4, image: 'r/api:2', trigger: 'restart', state: 'accepted', actor: 'admin@svc.local' },
    { revision: 3, image: 'r/api:2', state: 'failed' },
    {
      revision: 2,
      image: 'r/api:1',
      commit: 'abc',
      state: 'superseded',
      commitMessage: 'A change',
      commitAuthor: 'Kim',
      branch: 'main',
    },
    { revision: 1, image: 'r/api:1', commit: 'abc', state: 'superseded' },
  ]);
  t.equal((await app()).spec.release, undefined, 'the rollout does the rest');
});

t.test('409: a foreign Secret blocks setting secrets, and nothing else', async (t) => {
  const { kube, api, setSecret, setEnv } = await service(t);
  kube.seed({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'app-api-secrets', namespace },
    data: { A: 'eA==' },
  } as Secret);
  t.match(await setSecret('A', 'x'), { status: 409, body: { code: 'already_exists' } });
  t.same((await api.call('GET', `${path}/secrets`)).body.items, []);
  t.equal((await setEnv({ A: 'x' })).status, 200);
  t.equal((await api.call('GET', path)).status, 200);
});

/** A service of the environment, as its controller reports it. */
function seedService(kube: Awaited<ReturnType<typeof service>>['kube'], name: string, type: 'postgres' | 'redis') {
  const object: ServiceResource = {
    apiVersion: 'platform.svc/v1',
    kind: 'Service',
    metadata: { name, namespace, labels: workloadLabels({ kind: 'Service', name, id: newId() }) },
    spec: { type },
    status: { phase: 'ready', host: 'db', port: 5432 },
  };
  kube.seed(object);
}

t.test('an app is created with its bindings and secrets, which its variables may refer to', async (t) => {
  const { kube, api, log } = await service(t);
  seedService(kube, 'orders', 'postgres');
  seedService(kube, 'cache', 'redis');
  const env = { URL: '${DATABASE_URL}?x', KEY: '${API_KEY}', OTHER: '${CACHE_URL}' };
  const bindings = [{ service: 'orders' }, { service: 'cache', prefix: 'CACHE_' }];
  const body = { name: 'web', image, env, bindings, secrets: { API_KEY: 'hush-hush' } };
  let atFirst: unknown;
  kube.intercept = ({ verb, kind }) => {
    if (verb === 'create' && kind === 'Secret') {
      atFirst = kube.all<App>(kinds.App).find(({ metadata }) => metadata.name === 'web')?.metadata.annotations;
    }
  };
  const created = await api.call('POST', apps, { body });
  t.match(created, {
    status: 201,
    body: {
      message: 'Waiting for the binding to "cache".',
      bindings: [
        { service: 'cache', status: 'pending' },
        { service: 'orders', status: 'pending' },
      ],
    },
  });
  const stored = await kube.get<App>(kinds.App, 'web', namespace);
  t.match(stored?.spec.bindings, [
    { service: 'cache', prefix: 'CACHE_', version: Number },
    { service: 'orders', version: Number },
  ]);
  t.match(atFirst, { [secretsExpectedAnnotation]: 'true' }, 'its release waits until the secrets are stored');
  t.notHas(stored?.metadata.annotations, secretsExpectedAnnotation);
  if (!stored) throw new Error('no app');
  const { secrets } = await readSecrets(kube, stored);
  t.match(secrets, [{ name: 'API_KEY', value: 'hush-hush' }]);
  t.notMatch(JSON.stringify([created.body, kube.all(kinds.App), log.text()]), /hush-hush/);
});

t.test('an app is not created with bindings or secrets that cannot be', async (t) => {
  const { kube, api } = await service(t);
  seedService(kube, 'orders', 'postgres');
  seedService(kube, 'stock', 'postgres');
  const refusals: [object, number, string, RegExp][] = [
    [{ bindings: [{ service: 'nobody' }] }, 404, 'not_found', /no service "nobody"/],
    [{ bindings: [{ service: 'orders' }, { service: 'orders' }] }, 422, 'invalid_value', /named twice/],
    [{ bindings: [{ service: 'orders' }, { service: 'stock' }] }, 422, 'invalid_value', /would both set DB_HOST/],
    [{ bindings: [{ service: 'orders', prefix: '1' }] }, 422, 'invalid_value', /not a valid prefix/],
    [{ bindings: [{ service: 'orders', database: 'postgres' }] }, 422, 'invalid_value', /reserved by the server/],
    [{ secrets: { '1A': 'x' } }, 422, 'invalid_value', /not a valid variable name/],
    [{ secrets: { PORT: 'x' } }, 422, 'invalid_value', /set by the platform/],
    [{ secrets: { A: 'x' }, env: { A: 'y' } }, 409, 'already_exists', /both a variable and a secret/],
    [{ secrets: { A: 'x\0' } }, 400, 'invalid_request', /NUL/],
    [{ env: { URL: '${DATABASE_URL}' } }, 422, 'invalid_value', /"DATABASE_URL", which is not set/],
  ];
  for (const [more, status, code, message] of refusals) {
    const answer = await api.call('POST', apps, { body: { name: 'web', image, ...more } });
    t.match(answer, { status, body: { code, message } }, JSON.stringify(more));
  }
  t.equal(await kube.get(kinds.App, 'web', namespace), undefined, 'nothing is left behind');
});

t.test('an app is bound, bound again and unbound; a restart is pending until its pods have the password', async (t) => {
  const { kube, api, app, release, pending } = await service(t);
  seedService(kube, 'orders', 'postgres');
  const bindings = `${path}/bindings`;
  await release(1);
  t.equal(await pending(), false);
  const first = await api.call('PUT', `${bindings}/orders`, { body: { prefix: 'SHOP_' } });
  t.match(first, { status: 202, body: { service: 'orders', status: 'pending', renewed: false, prefix: 'SHOP_' } });
  t.equal(first.body.statusUrl, `http://console.test${bindings}/orders?environment=prod`);
  t.equal(await pending(), true);
  const again = await api.call('PUT', `${bindings}/orders`, { body: {} });
  t.match(again.body, { renewed: true, prefix: 'SHOP_', variables: /SHOP_URL/ });
  t.match((await app()).spec.bindings, [{ service: 'orders', prefix: 'SHOP_', version: Number }]);
  t.match((await api.call('GET', bindings)).body.items, [{ service: 'orders', type: 'postgres' }]);
  t.equal((await api.call('PUT', `${bindings}/nobody`, { body: {} })).status, 404);
  t.equal((await api.call('PUT', `${bindings}/orders`, { body: { database: 'template1' } })).status, 422);
  t.equal((await api.call('DELETE', `${bindings}/orders?dropDatabase=true`)).status, 409, 'no database was created');
  t.equal((await api.call('DELETE', `${bindings}/orders`)).status, 204);
  t.equal((await app()).spec.bindings, undefined);
  t.match((await api.call('GET', `${bindings}/orders`)).body, {
    code: 'not_found',
    message: /The app "api" is not bound to "orders".*`svc app bindings api`/,
  });
  t.equal(await pending(), false);
});
