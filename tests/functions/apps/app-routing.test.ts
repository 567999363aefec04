import t from 'tap';
import { createAppRoutes } from '../../../functions/apps/handler.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import type { HostName } from '../../../runtime/contracts/resources/claims.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { seedShop } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';

const path = '/api/v1/projects/shop/apps';
const image = 'registry.test/shop/api:v1';
const own = 'api--shop-prod.apps.test';

async function service(t: { teardown(end: () => unknown): void }) {
  const kube = fakeKube({ checkNamespaces: true });
  seedShop(kube);
  const { pool } = await testDatabase(t);
  const api = await testApi(t, {
    routes: createAppRoutes({ kube, pool, clock: fakeClock(), baseUrl: 'http://console.test' }),
  });
  const create = (body: object = {}) => api.call('POST', path, { body: { name: 'api', image, ...body } });
  const patch = (body: object, name = 'api') => api.call('PATCH', `${path}/${name}`, { body });
  const hosts = () => {
    const held = kube.all<HostName>(kinds.HostName);
    return Object.fromEntries(held.map(({ metadata, spec }) => [metadata.name, spec.name]));
  };
  const specOf = (name = 'api') => kube.all<App>(kinds.App).find(({ metadata }) => metadata.name === name)?.spec;
  const change = (body: object) => api.call('PATCH', `${path}/api/hosts`, { body });
  return { kube, api, create, patch, change, hosts, specOf };
}

t.test('201: an app claims its additional hosts, or is not created', async (t) => {
  const { kube, create, hosts, specOf } = await service(t);
  const answer = await create({ extraHosts: ['example.com', 'www.example.com'] });
  t.equal(answer.status, 201);
  t.match(answer.body, { url: `http://${own}`, extraHosts: ['example.com', 'www.example.com'] });
  t.same(specOf()?.extraHosts, ['example.com', 'www.example.com']);
  t.same(hosts(), { [own]: 'api', 'example.com': 'api', 'www.example.com': 'api' });

  const other = await create({ name: 'other', extraHosts: ['free.example.com', 'www.example.com'] });
  t.equal(other.status, 409);
  t.match(other.body, {
    code: 'host_taken',
    message: /"www.example.com" is already used by an app \("api" in shop-prod\)/,
    details: { host: 'www.example.com', holder: { name: 'api' } },
  });
  const living = kube.all<App>(kinds.App).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  t.equal(living.length, 1);
});

t.test('200: PATCH sets the whole list; a new host is claimed before the app names it', async (t) => {
  const { kube, create, patch, hosts, specOf } = await service(t);
  await create({ extraHosts: ['example.com'] });
  const order: string[] = [];
  kube.intercept = ({ verb, kind, name }) => {
    if (!['get', 'list'].includes(verb)) order.push(`${verb} ${kind} ${name}`);
  };
  const answer = await patch({ extraHosts: ['example.com', 'www.example.com'] });
  t.equal(answer.status, 200);
  t.same(answer.body.extraHosts, ['example.com', 'www.example.com']);
  t.same(order, ['create HostName www.example.com', 'mergePatch App api']);
  const claim = kube.all<HostName>(kinds.HostName).find(({ metadata }) => metadata.name === 'www.example.com');
  t.match(
    claim?.metadata.annotations?.['platform.svc/pending-until'],
    /^\d{4}-.*Z$/,
    'kept until the controller sees it',
  );

  t.same((await patch({ extraHosts: [] })).body.extraHosts, []);
  t.same(specOf()?.extraHosts, []);
  t.equal(hosts()['example.com'], 'api', 'its controller releases it, once the route has changed');
  t.same((await patch({ replicas: 2 })).body.extraHosts, [], 'another change keeps the list');
});

t.test('409: one taken host refuses the whole change', async (t) => {
  const { kube, create, patch, hosts, specOf } = await service(t);
  await create();
  await create({ name: 'other', extraHosts: ['www.example.com'] });
  const before = hosts();
  const extraHosts = ['a.example.com', 'b.example.com', 'www.example.com'];
  const writes = () => kube.calls.filter(({ verb }) => verb !== 'get' && verb !== 'list').length;
  const written = writes();
  t.match((await patch({ extraHosts, replicas: 3 })).body, {
    code: 'host_taken',
    message: /an app \("other" in shop-prod\)/,
  });
  t.equal(writes(), written, 'nothing was written at all');
  t.match((await patch({ extraHosts: ['console.apps.test'] })).body, {
    code: 'host_taken',
    message: /the platform itself/,
  });

  // It is taken between the check and the claim.
  await kube.delete({ apiVersion: 'platform.svc/v1', kind: 'HostName', name: 'www.example.com' });
  kube.intercept = ({ verb, name }) => {
    if (verb !== 'create' || name !== 'www.example.com') return;
    kube.intercept = undefined;
    kube.seed({
      apiVersion: 'platform.svc/v1',
      kind: 'HostName',
      metadata: { name: 'www.example.com' },
      spec: { kind: 'App', namespace: 'shop-prod', name: 'other', workloadId: '019a0000-0000-7000-8000-0000000000f1' },
    });
  };
  t.equal((await patch({ extraHosts, replicas: 3 })).status, 409);
  t.same(hosts(), before);
  t.match(specOf(), { replicas: 1, extraHosts: undefined });

  kube.intercept = ({ verb, kind }) => {
    if (verb === 'mergePatch' && kind === 'App') throw new KubeError(503, 'ServiceUnavailable', 'no leader');
  };
  t.equal((await patch({ extraHosts: ['a.example.com'] })).status, 503);
  t.same(hosts(), before, 'hosts claimed for a change that failed are released');
});

t.test('200: hosts are added and removed, and those of a request at the same time stay', async (t) => {
  const { kube, create, change, hosts, specOf } = await service(t);
  await create({ extraHosts: ['example.com'] });
  t.match(await change({ add: ['www.example.com', 'example.com'] }), {
    status: 200,
    body: { extraHosts: ['example.com', 'www.example.com'] },
  });
  t.same(hosts(), { [own]: 'api', 'example.com': 'api', 'www.example.com': 'api' });
  t.same((await change({ add: ['a.example.com'], remove: ['example.com', 'b.example.com'] })).body.extraHosts, [
    'www.example.com',
    'a.example.com',
  ]);

  // Each request reads the app before the other one writes it.
  const read = Promise.withResolvers<void>();
  let readers = 0;
  kube.intercept = async ({ verb, kind }) => {
    if (verb !== 'mergePatch' || kind !== 'App') return;
    readers += 1;
    if (readers === 2) read.resolve();
    await read.promise;
  };
  const answers = await Promise.all([
    change({ add: ['c.example.com'] }),
    change({ add: ['d.example.com'], remove: ['a.example.com'] }),
  ]);
  t.same(
    answers.map(({ status }) => status),
    [200, 200],
  );
  t.same(specOf()?.extraHosts?.toSorted(), ['c.example.com', 'd.example.com', 'www.example.com']);
  t.match(hosts(), { 'c.example.com': 'api', 'd.example.com': 'api' });
});

t.test('400, 409 and 422: a change of hosts that is refused changes nothing', async (t) => {
  const { kube, create, change, hosts, specOf } = await service(t);
  await create({ extraHosts: ['example.com'] });
  await create({ name: 'other', extraHosts: ['www.example.com'] });
  const before = hosts();
  const refusals: [object, { status: number; body: object }][] = [
    [{}, { status: 400, body: { code: 'invalid_request' } }],
    [
      { add: ['a.example.com', 'www.example.com'], remove: ['example.com'] },
      { status: 409, body: { code: 'host_taken' } },
    ],
    [{ add: ['*.example.com'] }, { status: 422, body: { code: 'invalid_value', details: { field: 'extraHosts' } } }],
    [{ add: ['a.example.com', 'a.example.com'] }, { status: 422, body: { code: 'invalid_value' } }],
    [{ add: [own] }, { status: 422, body: { code: 'invalid_value' } }],
    [
      { add: Array.from({ length: 10 }, (_, index) => `h${index}.example.com`) },
      {
        status: 422,
        body: { code: 'invalid_value', message: /at most 10 .* would have 11/, details: { field: 'add' } },
      },
    ],
  ];
  for (const [body, answer] of refusals) t.match(await change(body), answer, JSON.stringify(body));
  t.same(hosts(), before, 'hosts that were claimed ahead are released');
  t.same(specOf()?.extraHosts, ['example.com']);

  // Another app of this name: its hosts are not those that were claimed.
  kube.intercept = ({ verb, kind }) => {
    if (verb === 'mergePatch' && kind === 'App') throw new KubeError(409, 'Conflict', 'the UID differs');
  };
  t.match(await change({ add: ['a.example.com'] }), { status: 409, body: { code: 'conflict' } });
  t.same(hosts(), before);
});

t.test('422: hosts that are invalid or reserved', async (t) => {
  const { kube, create, patch } = await service(t);
  await create({ hostname: 'api.example.com' });
  const invalidRequests: [string[], RegExp][] = [
    [['*.example.com'], /wildcard/],
    [['nodots'], /not a lower-case host name/],
    [['192.0.2.7'], /is an IP address/],
    [['Upper.example.com'], /lower-case/],
    [['a.example.com`) || Host(`b.example.com'], /not a lower-case host name/],
    [['example.com:8080'], /not a lower-case host name/],
    [['a.example.com', 'a.example.com'], /twice/],
    [['api.example.com'], /main host already/],
    [['web--shop-prod.apps.test'], /default host of another/],
    [['fn-hello--c1.apps.test'], /default host of another/],
  ];
  const claims = kube.all(kinds.HostName).length;
  for (const [extraHosts, message] of invalidRequests) {
    const answer = await patch({ extraHosts });
    t.equal(answer.status, 422, extraHosts.join());
    t.match(answer.body, { code: 'invalid_value', message, details: { field: 'extraHosts' } });
    t.equal((await create({ name: 'other', extraHosts: [...extraHosts, ...extraHosts] })).status, 422);
  }
  t.equal(kube.all(kinds.HostName).length, claims);
  t.equal((await create({ name: 'other', hostname: 'web--shop-prod.apps.test' })).status, 422);
  const many = Array.from({ length: 11 }, (_, index) => `h${index}.example.com`);
  t.equal((await patch({ extraHosts: many })).status, 400);
  t.equal((await patch({ extraHosts: many.slice(1) })).status, 200);
  t.equal((await patch({ extraHosts: [own] })).status, 200, 'its own default host is allowed beside another');
});

t.test('security headers are on by default; a policy is set only on request', async (t) => {
  const { create, patch, specOf } = await service(t);
  t.same((await create()).body.security, { headers: true, csp: null });
  t.same(specOf()?.security, { headers: true });
  await create({ name: 'bare', security: { headers: false } });
  t.same(specOf('bare')?.security, { headers: false });
  await create({ name: 'strict', security: { csp: [] } });
  t.same(specOf('strict')?.security, { headers: true, csp: [] });
  await create({ name: 'none', security: { csp: null } });
  t.same(specOf('none')?.security, { headers: true });

  const csp = ['cdn.example.com', '*.example.org', 'https://api.example.net:8443', 'wss://*.example.net'];
  t.same((await patch({ security: { csp } })).body.security, { headers: true, csp });
  t.same((await patch({ security: { headers: false } })).body.security, { headers: false, csp });
  t.same((await patch({ security: { csp: null } })).body.security, { headers: false, csp: null });
  t.same(specOf()?.security, { headers: false });
});

t.test('422: text that could end the policy, or is more than a domain', async (t) => {
  const { create, patch, specOf } = await service(t);
  await create();
  const invalidRequests = [
    '*',
    "'self'",
    "'unsafe-inline'",
    'https:',
    'data:',
    'a.example.com; script-src *',
    'a.example.com b.example.com',
    'a.example.com\r\nX-Injected: 1',
    'a.example.com,b.example.com',
    'https://a.example.com/path',
    'ftp://a.example.com',
    'a.*.example.com',
    'a.example.com:0',
    'a.example.com:65536',
    'https://user@a.example.com',
    'bücher.example',
    '',
  ];
  for (const entry of invalidRequests) {
    const answer = await patch({ security: { csp: ['ok.example.com', entry] } });
    t.equal(answer.status, 422, JSON.stringify(entry));
    t.match(answer.body, { code: 'invalid_value', details: { field: 'csp' } });
  }
  const long = Array.from({ length: 40 }, (_, index) => `${'a'.repeat(50)}${index}.example.com`);
  t.match((await patch({ security: { csp: long } })).body, { code: 'invalid_value', message: /2000 characters/ });
  t.equal((await create({ name: 'other', security: { csp: ['*'] } })).status, 422);
  t.same(specOf()?.security, { headers: true });
});
