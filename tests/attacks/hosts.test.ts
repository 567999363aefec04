import t, { type Test } from 'tap';
import { createAppRoutes } from '../../functions/apps/handler.ts';
import { createFunctionRoutes } from '../../functions/functions/handler.ts';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { hostChallenge } from '../../runtime/domain/host-permission.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { createProjectAccess } from '../../runtime/api/project-access.ts';
import { createAuthenticate } from '../../functions/sessions/authenticate.ts';
import { testApi } from '../support/api.ts';
import { fakeClock } from '../support/clock.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { fakeKube } from '../support/fake-kube.ts';
import { allProjects, platformConfigObject, readyProject, settings } from '../support/objects.ts';
import { signedIn } from '../support/people.ts';
import { testDatabase } from '../support/postgres.ts';
import { appHost, appObjects, createWorld, namespace } from '../infra/local/ingress/world.ts';
import { editedCluster, refused } from './edited-objects.ts';

const apiVersion = 'platform.svc/v1';
const shopId = newId();
const blogId = newId();
const route = (match: string): KubeObject => ({
  apiVersion: 'traefik.io/v1alpha1',
  kind: 'IngressRoute',
  metadata: { name: `route-${match.length}`, namespace: 'monitoring' },
  spec: { routes: [{ kind: 'Rule', match, services: [{ name: 'grafana', port: 80 }] }] },
});
const ingress = (host: string): KubeObject => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: { name: host.replace('*', 'any'), namespace: 'monitoring' },
  spec: { rules: [{ host }] },
});
const project = (name: string, id: string): KubeObject[] =>
  readyProject(name).map((object) =>
    object.kind === 'Project'
      ? { ...object, metadata: { ...object.metadata, labels: { 'platform.svc/id': id } } }
      : object,
  );

async function world(t: Test, change: object = {}, records: Record<string, string[][]> = {}) {
  const kube = fakeKube();
  kube.seed(
    {
      ...platformConfigObject,
      spec: { ...settings, hostDomains: [{ domain: 'shop.test', projects: ['shop'] }], ...change },
    },
    ...project('shop', shopId),
    ...project('blog', blogId),
  );
  const { pool } = await testDatabase(t);
  const queries: string[] = [];
  const resolveTxt = async (name: string) => {
    queries.push(name);
    const answer = records[name];
    if (!answer) throw new Error(`queryTxt ENOTFOUND ${name}`);
    return answer;
  };
  const dependencies = { kube, pool, clock: fakeClock(), baseUrl: 'http://console.test', resolveTxt };
  const { authorize } = createProjectAccess({ kube, pool });
  const api = await testApi(t, {
    routes: [
      ...createAppRoutes(dependencies),
      ...createFunctionRoutes({ ...dependencies, visibleProjects: allProjects(kube) }),
    ],
    authenticate: createAuthenticate({ pool, clock: systemClock, baseUrl: 'http://console.test' }),
    authorize,
  });
  const members = {
    shop: await signedIn(pool, 'shop', { projects: { [shopId]: 'deployer' } }),
    blog: await signedIn(pool, 'blog', { projects: { [blogId]: 'deployer' } }),
    admin: await signedIn(pool, 'admin', { role: 'admin' }),
  };
  let count = 0;
  /** Tries to serve a host in every way: a new app and function, and an existing app and function. */
  const attempts = async (host: string, at: 'shop' | 'blog' = 'blog') => {
    count++;
    const { headers } = members[at];
    const path = `/api/v1/projects/${at}`;
    const call = (method: string, below: string, body: object) => api.call(method, path + below, { body, headers });
    await call('POST', '/apps', { name: `app-${count}`, image: 'hello:1' });
    await call('POST', '/functions', { name: `fn-${count}`, image: 'hello:1' });
    return [
      await call('POST', '/apps', { name: `a-${count}`, image: 'hello:1', hostname: host }),
      await call('POST', '/apps', { name: `b-${count}`, image: 'hello:1', extraHosts: [host] }),
      await call('POST', '/functions', { name: `c-${count}`, image: 'hello:1', hostname: host }),
      await call('PATCH', `/apps/app-${count}`, { extraHosts: [host] }),
      await call('PATCH', `/functions/fn-${count}`, { hostname: host }),
    ];
  };
  return { kube, api, members, attempts, queries };
}

const codesOf = (answers: { status: number; body: { code?: string } }[]) =>
  answers.map(({ status, body }) => `${status} ${body.code ?? ''}`.trim());
const all = (text: string) => Array.from({ length: 5 }, () => text);

t.test('403: a project takes no host outside the domains that it may use', async (t) => {
  const { attempts } = await world(t);
  for (const host of ['grafana.example.com', 'shop.test', 'www.shop.test', 'xapps.test', 'apps.test', 'test.apps']) {
    t.same(codesOf(await attempts(host)), all('403 host_not_allowed'), host);
  }
  for (const host of ['xshop.test', 'shop.test.evil.test']) {
    t.same(codesOf(await attempts(host, 'shop')), all('403 host_not_allowed'), host);
  }
  const [first] = await attempts('www.shop.test', 'shop');
  t.equal(first?.status, 201, 'its own domain');
  t.equal((await attempts('chosen.apps.test'))[0]?.status, 201, 'the apps domain');
});

t.test('a DNS record proves a host for one project and one host', async (t) => {
  const host = 'www.blog.example';
  const { name, value } = hostChallenge(host, blogId);
  t.equal(name, `_svc-challenge.${host}`);
  const other = 'api.blog.example';
  const { attempts, queries } = await world(
    t,
    {},
    { [name]: [['v=spf1'], [value.slice(0, 9), value.slice(9)]], [`_svc-challenge.${other}`]: [[`${value}0`]] },
  );
  const [refusal] = await attempts('new.blog.example');
  t.match(refusal?.body, {
    message: `create the DNS record _svc-challenge.new.blog.example TXT "${value}"`,
    details: { challenge: { name: '_svc-challenge.new.blog.example', value } },
  });
  t.same(codesOf(await attempts(host, 'shop')), all('403 host_not_allowed'), 'another project');
  t.same(codesOf(await attempts(other)), all('403 host_not_allowed'), 'another value');
  t.equal((await attempts(host))[0]?.status, 201);
  t.ok(queries.every((query) => query.startsWith('_svc-challenge.')));
  const without = await world(t, { hostProofs: false }, { [name]: [[value]] });
  const [answer] = await without.attempts(host);
  t.match(answer?.body, { code: 'host_not_allowed', message: /svc platform config set --host-domain/ });
  t.notMatch(answer?.text, 'TXT');
  t.same(without.queries, []);
});

t.test('409: a host that another route of the cluster serves', async (t) => {
  const { kube, attempts } = await world(t, { hostDomains: [{ domain: 'example.com' }] });
  kube.seed(
    route('Host(`grafana.apps.test`) || Host(`a.example.com`, `B.example.com`) && PathPrefix(`/x`)'),
    ingress('wiki.apps.test'),
    ingress('*.any.example.com'),
  );
  for (const host of ['grafana.apps.test', 'a.example.com', 'b.example.com', 'wiki.apps.test', 'one.any.example.com']) {
    t.same(codesOf(await attempts(host)), all('409 host_taken'), host);
  }
  t.equal((await attempts('a.b.any.example.com'))[0]?.status, 201);
});

t.test('422: no host that is or may become another workload’s, in every way', async (t) => {
  const { attempts } = await world(t);
  for (const host of [
    'web--shop-prod.apps.test',
    'fn-pay--c1.apps.test',
    'fn-pay--blog-prod--c1.apps.test',
    '*.apps.test',
    '10.0.0.1',
  ]) {
    t.same(codesOf(await attempts(host)), all('422 invalid_value'), host);
  }
  for (const answer of await attempts('console.apps.test')) t.notOk(answer.status < 400, answer.text);
});

t.test('host_taken names the holder only to those who may see it', async (t) => {
  const { api, members, attempts } = await world(t, { hostDomains: [{ domain: 'example.com' }] });
  const path = '/api/v1/projects/shop/apps';
  const body = { name: 'secret-name', image: 'hello:1', hostname: 'www.example.com' };
  t.equal((await api.call('POST', path, { body, headers: members.shop.headers })).status, 201);
  for (const answer of await attempts('www.example.com', 'blog')) {
    t.equal(answer.body.code, 'host_taken');
    t.notMatch(answer.text, /secret-name|shop/);
  }
  for (const answer of await attempts('www.example.com', 'shop')) t.match(answer.text, /secret-name/);
  const asAdmin = { body: { ...body, name: 'other' }, headers: members.admin.headers };
  t.match((await api.call('POST', '/api/v1/projects/blog/apps', asAdmin)).text, /secret-name/);
});

t.test('an object that is written with kubectl serves no other host; hosts that it has stay', async (t) => {
  const place = (name: string) => ({ name, namespace: 'shop-prod' });
  const id = newId();
  const release = () => ({ generation: 1, deploymentId: newId(), image: 'hello:1' });
  const app = (name: string, spec: object): KubeObject => ({
    apiVersion,
    kind: 'App',
    metadata: place(name),
    spec: { image: '', port: 8080, replicas: 1, release: release(), ...spec },
  });
  const kept = app('kept', { hostname: 'kept.example.com' });
  const { kube, statusOf, settle } = await editedCluster(
    t,
    { hostDomains: [] },
    route('Host(`wiki.apps.test`)'),
    app('first', { hostname: 'grafana.example.com' }),
    app('extra', { extraHosts: ['grafana.example.com'] }),
    app('foreign', { hostname: 'wiki.apps.test' }),
    app('default', { hostname: 'web--victim-prod.apps.test' }),
    {
      apiVersion,
      kind: 'Function',
      metadata: place('fn'),
      spec: {
        trigger: 'http',
        port: 8080,
        idleTimeoutSeconds: 300,
        image: 'hello:1',
        hostname: 'api--victim-prod.apps.test',
      },
    },
    { ...kept, metadata: { ...kept.metadata, labels: { 'platform.svc/id': id } } },
    {
      apiVersion,
      kind: 'HostName',
      metadata: { name: 'kept.example.com' },
      spec: { kind: 'App', namespace: 'shop-prod', name: 'kept', workloadId: id },
    },
  );
  const problem = (message: RegExp) => refused('ChildReconcileFailed', message);
  t.match(statusOf(kinds.App, 'first'), problem(/may not use the host "grafana\.example\.com"/));
  t.match(statusOf(kinds.App, 'extra'), problem(/may not use the host/));
  t.match(statusOf(kinds.App, 'foreign'), problem(/served by another route/));
  t.match(statusOf(kinds.App, 'default'), problem(/may be the default host of another/));
  t.match(statusOf(kinds.Function, 'fn'), problem(/may be the default host of another/));
  await settle();
  const names = kube.all(kinds.IngressRoute).map(({ metadata: { namespace, name } }) => `${namespace}/${name}`);
  t.same(names.sort(), ['monitoring/route-22', 'shop-prod/kept']);
});

t.test(
  'a route with many hosts takes no requests from another route of the cluster, whichever came first',
  async (t) => {
    const world = await createWorld(t);
    await world.serveEcho();
    await world.serve('grafana', namespace, (_, response) => response.end('grafana'));
    const padding = Array.from({ length: 9 }, (_, index) => `padding-${index}.example.com`);
    const ours = appObjects({ hosts: [appHost, ...padding] });
    t.match(ours[0]?.spec, { routes: [{ priority: 2 }] });
    const match = `Host(\`${appHost}\`)`;
    const grafana = (name: string): KubeObject => ({
      ...route(match),
      metadata: { name, namespace },
      spec: { routes: [{ match, services: [{ name: 'grafana', port: 80 }] }] },
    });
    for (const name of ['a-grafana', 'z-grafana']) {
      const routeObject = grafana(name);
      await world.put(...ours, routeObject);
      t.equal((await world.ask()).body, 'grafana');
      t.not((await world.ask({ host: 'padding-1.example.com' })).body, 'grafana');
      await world.remove(routeObject);
      t.not((await world.ask()).body, 'grafana');
    }
  },
);
