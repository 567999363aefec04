import t from 'tap';
import { createProjectRoutes } from '../../../functions/projects/handler.ts';
import type { Project } from '../../../runtime/contracts/resources/project.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import { testApi, testSession } from '../../support/api.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { allProjects, platformConfigObject, settings } from '../../support/objects.ts';

const path = '/api/v1/projects';

async function service(t: { teardown(end: () => unknown): void }) {
  const kube = fakeKube();
  const founders = new Map<string, string>();
  const members = {
    countFounder: async () => undefined,
    insertFounder: async (projectId: string, userId: string) => void founders.set(projectId, userId),
    forget: async (projectId: string) => void founders.delete(projectId),
  };
  const api = await testApi(t, { routes: createProjectRoutes({ kube, visibleProjects: allProjects(kube), members }) });
  return { kube, api, founders, create: (body: unknown) => api.call('POST', path, { body }) };
}

t.test('201: a project is created with its environments, each with an identity', async (t) => {
  const { kube, api, create } = await service(t);
  const answer = await create({ name: 'shop', displayName: 'The shop', environments: ['prod', 'test'] });
  t.equal(answer.status, 201);
  t.match(answer.body, {
    name: 'shop',
    displayName: 'The shop',
    status: 'creating',
    environments: [
      { name: 'prod', namespace: 'shop-prod', ready: false },
      { name: 'test', namespace: 'shop-test', ready: false },
    ],
  });
  const [project] = kube.all<Project>(kinds.Project);
  t.match(project, {
    metadata: {
      name: 'shop',
      labels: { 'app.kubernetes.io/managed-by': 'kipper', 'platform.svc/id': /^[0-9a-f-]{36}$/ },
    },
    spec: {
      environments: [
        { name: 'prod', id: /^[0-9a-f-]{36}$/ },
        { name: 'test', id: /^[0-9a-f-]{36}$/ },
      ],
    },
  });
  t.same((await api.call('GET', `${path}/shop`)).body, { ...answer.body, role: 'admin' });
  const plain = await create({ name: 'blog' });
  t.match(plain.body.environments, [{ name: 'prod', namespace: 'blog-prod' }]);
});

t.test('200: lists have pages, sorted by name', async (t) => {
  const { api, create } = await service(t);
  for (const name of ['c', 'a', 'b']) await create({ name });
  const first = await api.call('GET', `${path}?limit=2`);
  t.same(
    first.body.items.map((item: { name: string }) => item.name),
    ['a', 'b'],
  );
  const second = await api.call('GET', `${path}?limit=2&cursor=${first.body.nextCursor}`);
  t.same(
    second.body.items.map((item: { name: string }) => item.name),
    ['c'],
  );
  t.notHas(second.body, 'nextCursor');
});

t.test('the state that the controller reports is shown', async (t) => {
  const { kube, api, create } = await service(t);
  await create({ name: 'shop', environments: ['prod', 'test'] });
  const id = kube.all<Project>(kinds.Project)[0]?.spec.environments[0]?.id;
  await kube.mergePatch(
    { apiVersion: 'platform.svc/v1', kind: 'Project', name: 'shop' },
    {
      status: {
        phase: 'failed',
        environments: [{ name: 'prod', id, namespace: 'shop-prod', ready: false, message: 'the namespace exists' }],
      },
    },
    'status',
  );
  const { body } = await api.call('GET', `${path}/shop`);
  t.match(body, {
    status: 'failed',
    environments: [{ ready: false, message: 'the namespace exists' }, { name: 'test' }],
  });
});

t.test('422: invalid names are refused, and nothing is created', async (t) => {
  const { kube, create } = await service(t);
  const invalid = [
    { name: 'Shop' },
    { name: 'a--b' },
    { name: 'a'.repeat(31) },
    { name: 'kube', environments: ['system'] },
    { name: 'svc', environments: ['system'] },
    { name: 'shop', environments: ['pre-prod'] },
    { name: 'shop', environments: ['prod', 'prod'] },
  ];
  for (const body of invalid) {
    const answer = await create(body);
    t.equal(answer.status, 422, JSON.stringify(body));
    t.equal(answer.body.code, 'invalid_value');
  }
  t.equal((await create({ name: 'shop', environments: [] })).status, 400);
  t.same(kube.all(kinds.Project), []);
});

t.test('the creator of a project is its admin, by its identity; a refusal leaves nothing', async (t) => {
  const { kube, founders, create } = await service(t);
  await create({ name: 'shop' });
  const id = kube.all<Project>(kinds.Project)[0]?.metadata.labels?.['platform.svc/id'];
  t.same([...founders], [[id, testSession.userId]]);
  t.equal((await create({ name: 'shop' })).status, 409);
  t.equal(founders.size, 1);
  kube.intercept = ({ verb, kind }) => {
    if (verb !== 'create' || kind !== 'Project') return;
    t.equal(founders.size, 2, 'a project never exists without its admin');
    throw new KubeError(500, 'InternalError', 'the answer was lost');
  };
  t.equal((await create({ name: 'blog' })).status, 503);
  t.equal(founders.size, 2, 'it may exist');
});

t.test('409: an existing name or namespace', async (t) => {
  const { kube, create } = await service(t);
  await create({ name: 'shop' });
  t.match((await create({ name: 'shop' })).body, { code: 'already_exists' });
  kube.seed({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'blog-prod' } });
  t.match((await create({ name: 'blog' })).body, { code: 'namespace_taken', details: { namespace: 'blog-prod' } });
  kube.seed({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'wiki-prod', deletionTimestamp: '2026-01-01T00:00:00Z' },
  });
  t.match((await create({ name: 'wiki' })).body, { code: 'not_ready' });
});

t.test('environments are added once, even by two concurrent requests', async (t) => {
  const { kube, api, create } = await service(t);
  await create({ name: 'shop' });
  const add = (name: string) => api.call('POST', `${path}/shop/environments`, { body: { name } });
  const answers = await Promise.all([add('one'), add('two'), add('one')]);
  t.same(answers.map(({ status }) => String(status)).sort(), ['201', '201', '409']);
  t.match(answers.find(({ status }) => status === 201)?.body, { ready: false, namespace: /^shop-/ });
  const [project] = kube.all<Project>(kinds.Project);
  t.same(project?.spec.environments.map(({ name }) => name).sort(), ['one', 'prod', 'two']);
  t.match((await api.call('GET', `${path}/shop/environments`)).body.items.length, 3);
  t.equal((await add('pre-prod')).status, 422);
  t.equal((await api.call('POST', `${path}/none/environments`, { body: { name: 'x' } })).status, 404);
});

t.test('200: the limits of an environment are set, kept and removed one by one', async (t) => {
  const { kube, api, create } = await service(t);
  await create({ name: 'shop' });
  const environments = `${path}/shop/environments`;
  const change = (limits: object) => api.call('PATCH', `${environments}/prod`, { body: { limits } });
  t.match(await change({ cpu: '4', pods: 10 }), {
    status: 200,
    body: { name: 'prod', limits: { cpu: '4', pods: 10, memory: '32Gi' } },
  });
  t.match((await change({ cpu: null, memory: '8Gi' })).body.limits, { cpu: '16', pods: 10, memory: '8Gi' });
  t.same(kube.all<Project>(kinds.Project)[0]?.spec.environments[0]?.limits, { pods: 10, memory: '8Gi' });
  const invalid = [{ cpu: 'many' }, { memory: '1' }, { storage: '-1Gi' }, { containerMemory: '1Mi' }];
  for (const limits of invalid) t.equal((await change(limits)).status, 422, JSON.stringify(limits));
  t.equal((await api.call('PATCH', `${environments}/test`, { body: { limits: {} } })).status, 404);
  const creation = await api.call('POST', environments, { body: { name: 'test', limits: { cpu: '1' } } });
  t.match(creation, { status: 201, body: { limits: { cpu: '1' } } });
});

t.test('202: a deleted environment shows `deleting`, and can be added again only once it is gone', async (t) => {
  const { kube, api, create } = await service(t);
  await create({ name: 'shop', environments: ['prod', 'test'] });
  const environments = `${path}/shop/environments`;
  const remove = () => api.call('DELETE', `${environments}/test`);
  t.match(await remove(), { status: 202, body: { name: 'test', ready: false, deleting: true } });
  t.equal((await remove()).status, 202, 'asking again changes nothing');
  t.match(kube.all<Project>(kinds.Project)[0]?.spec.environments, [{ name: 'prod' }, { name: 'test', deleting: true }]);
  t.match((await api.call('POST', environments, { body: { name: 'test' } })).body, { code: 'not_ready' });
  t.match((await api.call('PATCH', `${environments}/test`, { body: { limits: {} } })).body, { code: 'not_ready' });
  t.equal((await api.call('DELETE', `${environments}/none`)).status, 404);
});

t.test('202 and 204: a deleted project shows `deleting` until it is gone', async (t) => {
  const { kube, api, create } = await service(t);
  kube.seed({
    apiVersion: 'platform.svc/v1',
    kind: 'Project',
    metadata: { name: 'wiki' },
    spec: { environments: [{ name: 'prod', id: '019a0000-0000-7000-8000-000000000001' }] },
  });
  t.equal((await api.call('DELETE', `${path}/wiki`)).status, 204);
  t.equal((await api.call('GET', `${path}/wiki`)).status, 404);
  await create({ name: 'blog' });
  const answer = await api.call('DELETE', `${path}/blog`);
  t.equal(answer.status, 202);
  t.equal(answer.body.status, 'deleting');
  t.match((await create({ name: 'blog' })).body, { code: 'not_ready' });
  t.match((await api.call('POST', `${path}/blog/environments`, { body: { name: 'x' } })).body, { code: 'not_ready' });
  t.equal((await api.call('DELETE', `${path}/none`)).status, 404);
});

t.test('unset limits of an environment are the installation’s, or the platform’s defaults', async (t) => {
  const { kube, api, create } = await service(t);
  kube.seed({ ...platformConfigObject, spec: { ...settings, defaultLimits: { pods: 30, memory: '8Gi' } } });
  t.match((await create({ name: 'blog' })).body, {
    environments: [{ limits: { pods: 30, memory: '8Gi', cpu: '16', containerMemory: '512Mi' } }],
  });
  const body = { name: 'test', limits: { memory: '1Gi' } };
  t.match((await api.call('POST', `${path}/blog/environments`, { body })).body, {
    limits: { pods: 30, memory: '1Gi' },
  });
  const resetLimit = await api.call('PATCH', `${path}/blog/environments/test`, { body: { limits: { memory: null } } });
  t.match(resetLimit.body, { limits: { memory: '8Gi' } });
  t.match((await api.call('GET', path)).body, { items: [{ environments: [{}, { limits: { memory: '8Gi' } }] }] });
  const own = async () => {
    const { body } = await api.call('GET', `${path}/blog`);
    return (body as { environments: { ownLimits: object }[] }).environments.map(({ ownLimits }) => ownLimits);
  };
  t.same(await own(), [{}, {}], 'defaults are no limits of the environment');
  await api.call('PATCH', `${path}/blog/environments/test`, { body: { limits: { pods: 30 } } });
  t.same(await own(), [{}, { pods: 30 }], 'also one that equals the default');
});

t.test('401: nothing without a session', async (t) => {
  const { api } = await service(t);
  t.equal((await api.call('GET', path, { headers: { authorization: '' } })).status, 401);
});
