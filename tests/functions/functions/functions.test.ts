import pg from 'pg';
import t from 'tap';
import { createFunctionRoutes } from '../../../functions/functions/handler.ts';
import type { FunctionResource } from '../../../runtime/contracts/resources/function.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfig } from '../../../runtime/contracts/resources/platform-config.ts';
import { testApi, testSession } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { allProjects, readyProject, seedShop } from '../../support/objects.ts';

const path = '/api/v1/projects/shop/functions';
const code = 'export const handler = () => ({ statusCode: 200, body: "hello" });';

const names = (body: { items: { name: string; project: string }[] }) =>
  body.items.map(({ name, project }) => `${project}/${name}`);

async function service(t: { teardown(end: () => unknown): void }) {
  const kube = fakeKube({ checkNamespaces: true });
  seedShop(kube);
  const dependencies = { clock: fakeClock(), baseUrl: 'http://console.test', visibleProjects: allProjects(kube) };
  const api = await testApi(t, { routes: createFunctionRoutes({ kube, pool: new pg.Pool(), ...dependencies }) });
  const create = (body: object = {}, at = path) =>
    api.call('POST', at, { body: { name: 'hello', runtime: 'node', code, ...body } });
  return { kube, api, create };
}

t.test('201: the object with its defaults, its name and its host', async (t) => {
  const { kube, create } = await service(t);
  const answer = await create();
  t.equal(answer.status, 201);
  t.match(answer.body, {
    name: 'hello',
    project: 'shop',
    environment: 'prod',
    runtime: 'node',
    trigger: 'http',
    status: 'pending',
    url: 'http://fn-hello--c1.apps.test',
    replicas: 0,
    idleTimeoutSeconds: 300,
  });
  t.notHas(answer.body, 'code');
  const [created] = kube.all<FunctionResource>(kinds.Function);
  const security = { headers: true };
  t.same(created?.spec, { runtime: 'node', code, trigger: 'http', port: 8080, idleTimeoutSeconds: 300, security });
  t.match(kube.all(kinds.WorkloadName), [{ spec: { kind: 'Function', workloadId: answer.body.id } }]);
  t.match(kube.all(kinds.HostName), [{ metadata: { name: 'fn-hello--c1.apps.test' } }]);
});

t.test('dependencies are shown, and those without one exact version are refused', async (t) => {
  const { kube, create } = await service(t);
  const dependencies = ['lodash@4.17.21', '@scope/name@1.0.0'];
  t.match(await create({ dependencies }), { status: 201, body: { dependencies } });
  t.match(kube.all<FunctionResource>(kinds.Function)[0]?.spec, { dependencies });
  for (const entry of ['lodash', 'x@https://a.test/x.tgz', '--registry=http://a.test@1.0.0', 'x@latest']) {
    const refused = await create({ name: 'other', dependencies: [entry] });
    t.match(refused, { status: 422, body: { code: 'invalid_dependency', details: { dependency: entry } } }, entry);
  }
  const many = (count: number) => Array.from({ length: count }, (_, index) => `package-${index}@1.0.0`);
  t.match(await create({ name: 'many', dependencies: many(50) }), { status: 201 });
  t.match(await create({ name: 'other', dependencies: many(51) }), { status: 400, body: { code: 'invalid_request' } });
});

t.test('an image in place of code, there and back', async (t) => {
  const { kube, api, create } = await service(t);
  const image = 'registry.example.com/shop/resize:3';
  const none = { runtime: undefined, code: undefined };
  const creation = await create({ ...none, image });
  t.match(creation, { status: 201, body: { image } });
  t.notHas(creation.body, 'runtime');
  const spec = () => kube.all<FunctionResource>(kinds.Function)[0]?.spec;
  const rest = { trigger: 'http', idleTimeoutSeconds: 300, security: { headers: true } };
  t.same(spec(), { image, port: 8080, ...rest });
  for (const [body, field] of [
    [none, 'code'],
    [{ runtime: undefined }, 'runtime'],
    [{ image }, 'code'],
    [{ ...none, runtime: 'node', image }, 'runtime'],
    [{ ...none, dependencies: ['lodash@4.17.21'], image }, 'dependencies'],
    [{ ...none, image: 'resize' }, 'image'],
    [{ ...none, image: 'x; rm -rf /:1' }, 'image'],
  ] as const) {
    const refused = await create({ name: 'other', ...body });
    t.match(refused, { status: 422, body: { code: 'invalid_value', details: { field } } }, JSON.stringify(body));
  }
  const change = (body: object) => api.call('PATCH', `${path}/hello`, { body });
  t.match(await change({ code }), { status: 422, body: { details: { field: 'runtime' } } });
  t.match(await change({ runtime: 'node' }), { status: 422, body: { details: { field: 'runtime' } } });
  t.match(await change({ code, runtime: 'node', dependencies: ['lodash@4.17.21'] }), { status: 200 });
  t.notHas(spec(), 'image');
  t.match(await change({ image, port: 9000 }), { status: 200, body: { image } });
  t.same(spec(), { image, port: 9000, ...rest });
});

t.test('422: a runtime that the installation has no image for', async (t) => {
  const { kube, create } = await service(t);
  const answer = await create({ runtime: 'python' });
  t.equal(answer.status, 422);
  t.match(answer.body, { code: 'invalid_value', message: /--image-function-python/, details: { field: 'runtime' } });
  const [config] = kube.all<PlatformConfig>(kinds.PlatformConfig);
  if (!config) throw new Error('there are settings');
  const runtimeImages = { node: 'registry.test/node:1', python: 'registry.test/python:1' };
  await kube.replace({ ...config, spec: { ...config.spec, runtimeImages } });
  t.match(await create({ runtime: 'python' }), { status: 201, body: { runtime: 'python' } });
});

t.test('409: a name that an app holds is refused with the documented message', async (t) => {
  const { kube, create } = await service(t);
  kube.seed({
    apiVersion: 'platform.svc/v1',
    kind: 'WorkloadName',
    metadata: { name: 'hello', namespace: 'shop-prod' },
    spec: { kind: 'App', workloadId: '019a0000-0000-7000-8000-0000000000f1' },
  });
  const answer = await create();
  t.equal(answer.status, 409);
  t.match(answer.body, {
    code: 'name_taken',
    message: /already used by an app in this environment; an app, a function and a job cannot share a name/,
  });
  const [left] = kube.all(kinds.Function);
  t.type(left?.metadata.deletionTimestamp, 'string', 'the controller removes the rest');
});

t.test('the same name in two projects: the second function gets a host that only it can have', async (t) => {
  const { kube, api, create } = await service(t);
  kube.seed(...readyProject('blog'));
  const first = await create();
  t.match(first.body, { url: 'http://fn-hello--c1.apps.test' });
  const elsewhere = '/api/v1/projects/blog/functions';
  const url = 'http://fn-hello--blog-prod--c1.apps.test';
  t.match(await create({}, elsewhere), { status: 201, body: { url } });
  const spec = () =>
    kube.all<FunctionResource>(kinds.Function).find((each) => each.metadata.namespace === 'blog-prod')?.spec;
  t.equal(spec()?.hostname, 'fn-hello--blog-prod--c1.apps.test');
  t.equal((await api.call('PATCH', `${elsewhere}/hello`, { body: { hostname: null } })).status, 200);
  t.equal(spec()?.hostname, 'fn-hello--blog-prod--c1.apps.test', 'the short host is still taken');
  await kube.delete({ ...kinds.HostName, name: 'fn-hello--c1.apps.test' });
  t.equal((await api.call('PATCH', `${elsewhere}/hello`, { body: { hostname: null } })).status, 200);
  t.equal(spec()?.hostname, undefined, 'the short host has become free');
});

t.test('409: a chosen host that another project has is refused without naming its holder', async (t) => {
  const { kube, create } = await service(t);
  kube.seed(...readyProject('blog'));
  await create();
  const elsewhere = '/api/v1/projects/blog/functions';
  const answer = await create({ hostname: 'fn-hello--c1.apps.test' }, elsewhere);
  t.match(answer, { status: 409, body: { code: 'host_taken' } });
  t.equal((await create({ name: 'hi', hostname: 'hello.blog.test' }, elsewhere)).status, 201);
});

t.test('422: a name that is too long for any default host, where the short host is taken', async (t) => {
  const { kube, create } = await service(t);
  const project = 'b'.repeat(30);
  kube.seed(...readyProject(project));
  const name = 'a'.repeat(40);
  t.equal((await create({ name })).status, 201);
  const answer = await create({ name }, `/api/v1/projects/${project}/functions`);
  t.match(answer, { status: 422, body: { code: 'invalid_value', details: { field: 'hostname' } } });
  t.match(answer.body, { message: /Choose a shorter name, or set --hostname/ });
});

t.test('400 and 422: settings that cannot run', async (t) => {
  const { kube, create } = await service(t);
  t.equal((await create({ code: '' })).status, 400);
  t.equal((await create({ code: 'x'.repeat(512 * 1024 + 1) })).status, 400);
  t.equal((await create({ runtime: 'perl' })).status, 400);
  t.equal((await create({ trigger: 'kafka' })).status, 400);
  t.equal((await create({ name: 'Hello' })).status, 422);
  t.equal((await create({ name: `${'a'.repeat(40)}b` })).status, 422);
  t.same(kube.all(kinds.Function), []);
});

t.test('201: serving and scaling settings; 422 for a maximum below the minimum', async (t) => {
  const { kube, create } = await service(t);
  const limits = { concurrency: 4, targetRate: 900, requestTimeoutSeconds: 60, minReplicas: 2, maxReplicas: 3 };
  t.match(await create(limits), { status: 201, body: limits });
  t.match(kube.all<FunctionResource>(kinds.Function)[0]?.spec, limits);
  t.match((await create({ name: 'plain' })).body, {
    concurrency: 100,
    targetRate: 200,
    requestTimeoutSeconds: 300,
    minReplicas: 0,
    maxReplicas: 10,
    port: 8080,
  });
  const refused = await create({ name: 'odd', minReplicas: 3, maxReplicas: 2 });
  t.match(refused, { status: 422, body: { code: 'invalid_value', details: { field: 'minReplicas' } } });
  t.equal((await create({ name: 'odd', maxReplicas: 11 })).status, 400);
});

t.test('200: per environment, and over all projects', async (t) => {
  const { kube, api, create } = await service(t);
  kube.seed(...readyProject('blog'));
  await create();
  await create({ name: 'bye' });
  await create({ name: 'note' }, '/api/v1/projects/blog/functions');
  t.same(names((await api.call('GET', path)).body), ['shop/bye', 'shop/hello']);
  const first = await api.call('GET', '/api/v1/functions?limit=2');
  t.same(names(first.body), ['blog/note', 'shop/bye']);
  const second = await api.call('GET', `/api/v1/functions?limit=2&cursor=${first.body.nextCursor}`);
  t.same(names(second.body), ['shop/hello']);
  t.equal((await api.call('GET', `${path}/hello`)).body.name, 'hello');
  t.equal((await api.call('GET', `${path}/note`)).status, 404);
});

t.test('200: objects without an identity are listed; those without a project for platform admins only', async (t) => {
  const kube = fakeKube();
  seedShop(kube);
  const spec = { runtime: 'node', code, trigger: 'http', port: 8080, idleTimeoutSeconds: 300 };
  for (const namespace of ['shop-prod', 'stray']) {
    const metadata = { name: 'by-hand', namespace };
    kube.seed({ apiVersion: 'platform.svc/v1', kind: 'Function', metadata, spec });
  }
  const dependencies = { clock: fakeClock(), baseUrl: 'http://console.test', visibleProjects: allProjects(kube) };
  const routes = createFunctionRoutes({ kube, pool: new pg.Pool(), ...dependencies });
  const admin = await testApi(t, { routes });
  const member = await testApi(t, { routes, authenticate: async () => ({ ...testSession, role: 'member' }) });
  t.match((await admin.call('GET', path)).body.items, [{ name: 'by-hand', id: /^[0-9a-f-]{36}$/ }]);
  t.equal((await admin.call('GET', '/api/v1/functions')).body.items.length, 2);
  t.equal((await member.call('GET', '/api/v1/functions')).body.items.length, 1);
});

t.test('200: a change keeps absent fields, and drops those that a new trigger does not use', async (t) => {
  const { kube, api, create } = await service(t);
  await create({ dependencies: ['lodash@4.17.21'], maxReplicas: 3 });
  const spec = () => kube.all<FunctionResource>(kinds.Function)[0]?.spec;
  const change = (body: object) => api.call('PATCH', `${path}/hello`, { body });
  t.match(await change({ code: 'new' }), { status: 200, body: { name: 'hello', dependencies: ['lodash@4.17.21'] } });
  t.match(spec(), { code: 'new', maxReplicas: 3, port: 8080, dependencies: ['lodash@4.17.21'] });
  await change({ dependencies: [], hostname: 'hello.shop.test', idleTimeoutSeconds: 60 });
  t.match(spec(), { dependencies: [], hostname: 'hello.shop.test', idleTimeoutSeconds: 60, code: 'new' });
  await change({ hostname: null });
  t.notHas(spec(), 'hostname');

  for (const [body, status, code] of [
    [{}, 400, 'invalid_request'],
    [{ name: 'other' }, 400, 'invalid_request'],
    [{ schedule: '* * * * *' }, 422, 'invalid_value'],
    [{ trigger: 'cron' }, 422, 'invalid_value'],
    [{ dependencies: ['lodash'] }, 422, 'invalid_dependency'],
    [{ runtime: 'python' }, 422, 'invalid_value'],
    [{ maxReplicas: 2, minReplicas: 3 }, 422, 'invalid_value'],
    [{ hostname: 'console.apps.test' }, 409, 'host_taken'],
  ] as const) {
    t.match(await change(body), { status, body: { code } }, JSON.stringify(body));
  }
  await create({ name: 'other', hostname: 'other.shop.test' });
  t.match(await change({ hostname: 'other.shop.test' }), { status: 409, body: { code: 'host_taken' } });

  t.match(await change({ trigger: 'cron', schedule: '0 2 * * *' }), { status: 200, body: { trigger: 'cron' } });
  t.match(spec(), { trigger: 'cron', schedule: '0 2 * * *', timeZone: 'Etc/UTC', code: 'new' });
  t.notHas(spec(), 'maxReplicas');
  await change({ trigger: 'http' });
  t.notHas(spec(), 'schedule');
  t.equal((await api.call('PATCH', `${path}/none`, { body: { code: 'x' } })).status, 404);
});

t.test('200: security settings change part by part, and outlive another trigger', async (t) => {
  const { kube, api, create } = await service(t);
  t.match((await create()).body, { security: { headers: true, csp: null }, gate: 'off' });
  const change = async (body: object) => (await api.call('PATCH', `${path}/hello`, { body })).body;
  const security = () => kube.all<FunctionResource>(kinds.Function)[0]?.spec.security;
  t.match(await change({ security: { csp: ['cdn.example.com'] } }), { security: { csp: ['cdn.example.com'] } });
  t.same(security(), { headers: true, csp: ['cdn.example.com'] });
  await change({ idleTimeoutSeconds: 60 });
  t.same(security(), { headers: true, csp: ['cdn.example.com'] });
  await change({ security: { headers: false, csp: null } });
  t.same(security(), { headers: false });
  t.match(await change({ security: { csp: ['not a host'] } }), { code: 'invalid_value' });
  t.notHas(await change({ trigger: 'cron', schedule: '0 2 * * *' }), 'security');
  t.match(await change({ trigger: 'http' }), { security: { headers: false, csp: null } });
  t.match(await create({ name: 'bare', security: { headers: false } }), {
    status: 201,
    body: { security: { headers: false } },
  });
});

t.test('the gate shows the setting until the ingress follows; without a route it is refused', async (t) => {
  const { kube, api, create } = await service(t);
  await create();
  await create({ name: 'nightly', trigger: 'cron', schedule: '0 2 * * *' });
  const put = (name: string, enabled: boolean) => api.call('PUT', `${path}/${name}/gate`, { body: { enabled } });
  t.match(await api.call('GET', `${path}/hello/gate`), { status: 200, body: { gate: 'off' } });
  t.match(await put('hello', true), { status: 200, body: { gate: 'applying' } });
  t.match(kube.all<FunctionResource>(kinds.Function)[0]?.spec, { gate: { enabled: true }, code });
  await api.call('PATCH', `${path}/hello`, { body: { code: 'new' } });
  t.match((await api.call('GET', `${path}/hello`)).body, { gate: 'applying' }, 'other changes do not affect it');
  t.match(await put('nightly', true), { status: 422, body: { code: 'invalid_value', message: /no public route/ } });
  t.equal((await put('none', true)).status, 404);
});

t.test('202: a deleted function shows `deleting` until its controller has finished', async (t) => {
  const { api, create } = await service(t);
  await create();
  t.match((await api.call('DELETE', `${path}/hello`)).body, { status: 'deleting' });
  t.equal((await api.call('GET', `${path}/hello`)).body.status, 'deleting');
  t.equal((await api.call('DELETE', `${path}/none`)).status, 404);
});
