import pg from 'pg';
import t from 'tap';
import { createFunctionRoutes } from '../../../functions/functions/handler.ts';
import type { FunctionResource, StartSettings } from '../../../runtime/contracts/resources/function.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { boundEnvironment } from '../../../runtime/workloads/bound-environment.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { recordingLog } from '../../support/log.ts';
import { allProjects, seedShop } from '../../support/objects.ts';

const functions = '/api/v1/projects/shop/functions';
const path = `${functions}/hello`;
const namespace = 'shop-prod';
const code = 'export const handler = () => 1;';

async function service(t: { teardown(end: () => unknown): void }, body: object = {}) {
  const kube = fakeKube({ checkNamespaces: true });
  seedShop(kube);
  const log = recordingLog();
  const clock = fakeClock();
  const dependencies = { clock, baseUrl: 'http://console.test', visibleProjects: allProjects(kube) };
  const api = await testApi(t, {
    routes: createFunctionRoutes({ kube, pool: new pg.Pool(), ...dependencies }),
    log: log.log,
  });
  const create = (more: object) =>
    api.call('POST', functions, { body: { name: 'hello', runtime: 'node', code, ...more } });
  const created = await create(body);
  const hello = async () => {
    const current = await kube.get<FunctionResource>(kinds.Function, 'hello', namespace);
    if (!current) throw new Error('no function');
    return current;
  };
  const update = (change: object) => api.call('PATCH', path, { body: change });
  const setEnv = (change: object) => api.call('PATCH', `${path}/env`, { body: change });
  const setSecret = (name: string, value: string) => api.call('PUT', `${path}/secrets/${name}`, { body: { value } });
  const pending = async () => {
    const [view, env] = [await api.call('GET', path), await api.call('GET', `${path}/env`)];
    if (view.body.pendingRestart !== env.body.pendingRestart) throw new Error('two answers');
    return view.body.pendingRestart as boolean;
  };
  /** The controller's report once every pod has the latest settings. */
  const start = async (more: StartSettings = {}) => {
    const current = await hello();
    const { environment } = await boundEnvironment(kube, current);
    const { restartedAt } = current.spec;
    const running = {
      memory: '256Mi',
      ...(environment && { envSecret: environment.name }),
      ...(restartedAt !== undefined && { restartedAt }),
      ...more,
    };
    await kube.replaceStatus({ ...current, status: { ...current.status, running } });
  };
  const volume = (name: string, accessMode: string) =>
    kube.seed({
      apiVersion: 'platform.svc/v1',
      kind: 'Volume',
      metadata: { name, namespace },
      spec: { size: '1Gi', accessMode },
    });
  return { kube, api, log, clock, create, created, hello, update, setEnv, setSecret, pending, start, volume };
}

t.test('201 and 422: a function is created with variables that resolve', async (t) => {
  const { created, hello, create } = await service(t, { env: { URL: 'http://${HOST}', HOST: 'h' } });
  t.match(created, { status: 201, body: { env: { HOST: 'h', URL: 'http://${HOST}' } } });
  t.same((await hello()).spec.env, [
    { name: 'HOST', value: 'h' },
    { name: 'URL', value: 'http://${HOST}' },
  ]);
  const refused: [Record<string, string>, RegExp][] = [
    [{ A: '${B}', B: '${A}' }, /A → B → A/],
    [{ A: '${NONE}' }, /"NONE", which is not set/],
    [{ A: '${SVC_MODE}' }, /"SVC_MODE", which differs between pods/],
    [{ A: '${SVC_TRIGGER}' }, /"SVC_TRIGGER", which differs between pods/],
    [{ SVC_CODE_FILE: '/x' }, /variables that start with SVC_/],
    [{ PORT: '1' }, /set by the platform/],
    [{ 'a b': '1' }, /valid variable name/],
  ];
  for (const [env, message] of refused) {
    t.match(await create({ name: 'bad', env }), {
      status: 422,
      body: { code: 'invalid_value', message, details: { field: 'env' } },
    });
  }
});

t.test('200: variables are changed one by one, or all by PATCH of the function', async (t) => {
  const { api, setEnv, setSecret, update, hello } = await service(t);
  t.same((await setEnv({ A: '1', B: '${A}' })).body, { variables: { A: '1', B: '${A}' }, pendingRestart: false });
  t.match(await setEnv({ A: null }), { status: 422, body: { message: /"B" refers to "A"/ } });
  t.match(await setEnv({ NONE: null }), { status: 404, body: { message: /svc function env list hello/ } });
  t.match(await setEnv({ SVC_RUN: 'x' }), { status: 422, body: { code: 'invalid_value' } });
  await setSecret('S', 'x');
  t.match(await setEnv({ S: 'hidden' }), { status: 409, body: { code: 'already_exists', message: /The function/ } });
  t.same((await update({ env: { C: '${S}' } })).body.env, { C: '${S}' });
  t.match(await api.call('DELETE', `${path}/secrets/S`), { status: 409, body: { code: 'in_use' } });
  t.same((await update({ code: 'other' })).body.env, { C: '${S}' }, 'absent fields stay');
  t.match((await hello()).spec, { secretsRevision: String });
  t.same((await update({ env: {} })).body.env, {});
});

t.test('secrets: lists show names, only an admin sees a value, and the controller sees every change', async (t) => {
  const { api, setSecret, log, kube, hello } = await service(t);
  const revisions = new Set<string | undefined>();
  const changed = async () => {
    const { secretsRevision } = (await hello()).spec;
    t.notOk(revisions.has(secretsRevision), 'the Function shows that there is a change');
    revisions.add(secretsRevision);
  };
  await changed();
  t.match(await setSecret('TOKEN', 'hunter2'), { status: 200, body: { name: 'TOKEN', hasPrevious: false } });
  await changed();
  await setSecret('TOKEN', 'correct-horse');
  await changed();
  t.match((await api.call('GET', `${path}/secrets`)).body.items, [{ name: 'TOKEN', hasPrevious: true }]);
  t.match((await api.call('GET', `${path}/secrets/TOKEN`)).body, { value: 'correct-horse' });
  t.match((await api.call('POST', `${path}/secrets/TOKEN/restore`)).body, { name: 'TOKEN', hasPrevious: true });
  await changed();
  t.equal((await api.call('GET', `${path}/secrets/TOKEN`)).body.value, 'hunter2');
  t.match(await setSecret('SVC_TRIGGER', 'x'), { status: 422, body: { details: { field: 'name' } } });
  t.equal((await api.call('DELETE', `${path}/secrets/TOKEN`)).status, 204);
  await changed();
  const actions = log.entries.filter(({ action }) => String(action).startsWith('secret.'));
  t.match(actions[2], { action: 'secret.reveal', actor: 'admin@svc.local', function: 'hello', secret: 'TOKEN' });
  t.equal(actions.length, 6);
  t.notMatch(log.text(), /hunter2|correct-horse/);
  t.notMatch(JSON.stringify([...kube.all(kinds.Function), (await api.call('GET', path)).body]), /hunter2|correct/);
});

t.test('changes that wait for a restart are shown until pods have them', async (t) => {
  const { api, update, setEnv, setSecret, pending, start, clock, hello, kube } = await service(t, { env: { A: '1' } });
  t.equal(await pending(), false, 'without pods nothing waits');
  await start();
  t.equal(await pending(), false);
  t.equal((await setEnv({ B: '2' })).body.pendingRestart, true);
  t.equal((await setEnv({ B: null })).body.pendingRestart, false, 'reverted');
  await setSecret('S', 'x');
  t.equal(await pending(), true);
  await start();
  t.equal((await update({ memory: '1024Mi' })).body.pendingRestart, true);
  t.equal((await update({ memory: '256Mi' })).body.pendingRestart, false, 'the default');
  t.equal((await update({ cpu: '0.5' })).body.pendingRestart, true);
  await start({ cpu: '500m' });
  t.equal(await pending(), false);
  t.equal((await update({ cpu: null, memory: null })).body.pendingRestart, true);
  t.same([(await hello()).spec.cpu, (await hello()).spec.memory], [undefined, undefined]);
  await start();
  await clock.advance(1_000);
  t.match(await api.call('POST', `${path}/restart`), { status: 200, body: { pendingRestart: true } });
  t.equal((await hello()).spec.restartedAt, clock.now().toISOString());
  await start();
  t.equal(await pending(), false);
  t.equal((await api.call('GET', functions)).body.items[0].pendingRestart, undefined, 'lists read no Secrets');
  t.equal(kube.calls.filter(({ verb, kind }) => verb === 'list' && kind === 'Secret').length, 0);
  // Written directly, without the API's checks.
  await kube.mergePatch(
    { ...kinds.Function, namespace, name: 'hello' },
    { spec: { env: [{ name: 'A', value: '${N}' }] } },
  );
  t.equal(await pending(), true);
  t.match(await api.call('POST', `${path}/restart`), { status: 422, body: { message: /"N", which is not set/ } });
});

t.test("a variable may refer to a future binding's, and a restart waits for it", async (t) => {
  const { kube, setEnv, api } = await service(t);
  kube.seed({
    apiVersion: 'platform.svc/v1',
    kind: 'Service',
    metadata: { name: 'orders', namespace },
    spec: { type: 'postgres' },
  });
  t.match(await setEnv({ URL: 'db://${DB_HOST}' }), { status: 422 });
  const bindings = [{ service: 'orders', version: 1 }];
  await kube.mergePatch({ ...kinds.Function, namespace, name: 'hello' }, { spec: { bindings } });
  t.match(await setEnv({ URL: 'db://${DB_HOST}' }), { status: 200 });
  t.match(await setEnv({ URL: 'db://${DB_HOSTS}' }), { status: 422 });
  t.match(await api.call('POST', `${path}/restart`), { status: 409, body: { code: 'not_ready', message: /orders/ } });
});

t.test('limits and volumes are checked, and a single-pod volume allows one pod', async (t) => {
  const { update, create, volume, hello } = await service(t);
  volume('one', 'ReadWriteOnce');
  volume('many', 'ReadWriteMany');
  const mount = (name: string, at = '/data') => ({ volumes: [{ name, path: at }] });
  const refused: [object, RegExp, string][] = [
    [{ memory: '1Mi' }, /not a valid memory/, 'memory'],
    [{ cpu: 'much' }, /not a valid cpu/, 'cpu'],
    [mount('none'), /no volume "none".*svc volume create/, 'volumes'],
    [mount('many', 'data'), /not a valid mount path/, 'volumes'],
    [mount('many', '/tmp'), /is reserved by the platform/, 'volumes'],
    [mount('many', '/var/run//svc/code'), /is reserved by the platform/, 'volumes'],
    [{ ...mount('one'), maxReplicas: 2 }, /a function that mounts it can have at most 1/, 'maxReplicas'],
    [{ ...mount('one'), minReplicas: 2 }, /a function that mounts it can have at most 1/, 'maxReplicas'],
  ];
  for (const [change, message, field] of refused) {
    const expected = { status: 422, body: { code: 'invalid_value', message, details: { field } } };
    t.match(await create({ name: 'bad', ...change }), expected);
    t.match(await update(change), expected);
  }
  t.match(await update({ ...mount('many', '/tmpfiles'), memory: '512Mi', cpu: '250m' }), {
    status: 200,
    body: { volumes: [{ name: 'many', path: '/tmpfiles' }], memory: '512Mi', cpu: '250m', maxReplicas: 10 },
  });
  t.match(await update(mount('one')), { status: 200, body: { maxReplicas: 1 } });
  t.match(await update({ maxReplicas: 3 }), { status: 422 });
  t.match(await update({ volumes: [] }), { status: 200, body: { maxReplicas: 10 } });
  t.match(await update({ ...mount('one'), maxReplicas: 1 }), { status: 200, body: { maxReplicas: 1 } });
  t.match(await update({ volumes: [] }), { status: 200, body: { maxReplicas: 1 } }, 'in the given unit');
  t.match(await update(mount('one')), { status: 200 });
  t.match(await update({ volumes: [], maxReplicas: 3 }), { status: 200, body: { volumes: [], maxReplicas: 3 } });
  const cron = { trigger: 'cron', schedule: '0 2 * * *', name: 'nightly' };
  t.match(await create({ ...cron, ...mount('one') }), { status: 201, body: mount('one') });
  t.same((await hello()).spec.volumes, []);
});
