import t, { type Test } from 'tap';
import { createAppRoutes } from '../../functions/apps/handler.ts';
import { createFunctionRoutes } from '../../functions/functions/handler.ts';
import { createJobRoutes } from '../../functions/jobs/handler.ts';
import { createServiceRoutes } from '../../functions/services/handler.ts';
import { createAuthenticate } from '../../functions/sessions/authenticate.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { createProjectAccess } from '../../runtime/api/project-access.ts';
import type { Configurable } from '../../runtime/workloads/objects.ts';
import { testApi } from '../support/api.ts';
import { fakeKube } from '../support/fake-kube.ts';
import { allProjects, platformConfigObject, seedProject } from '../support/objects.ts';
import { signedIn, type PersonOptions } from '../support/people.ts';
import { testDatabase } from '../support/postgres.ts';

const projects = { shop: newId(), victim: newId() };
const collections = { apps: kinds.App, functions: kinds.Function, jobs: kinds.Job };
const bodies = {
  apps: { image: 'registry.test/x:1' },
  functions: { runtime: 'node', code: 'x' },
  jobs: { image: 'registry.test/x:1' },
};

/** The projects `shop` and `victim`; the latter has the service `ledger`, the former `orders`. */
async function world(t: Test) {
  const kube = fakeKube();
  kube.seed(platformConfigObject);
  for (const [name, id] of Object.entries(projects)) {
    seedProject(kube, { name, id });
  }
  const { pool } = await testDatabase(t);
  const common = { kube, pool, clock: systemClock, baseUrl: 'http://console.test' };
  const { authorize } = createProjectAccess({ kube, pool });
  const authenticate = createAuthenticate({ pool, clock: systemClock, baseUrl: common.baseUrl });
  const routes = [
    ...createAppRoutes(common),
    ...createFunctionRoutes({ ...common, visibleProjects: allProjects(kube) }),
    ...createJobRoutes(common),
    ...createServiceRoutes({ kube }),
  ];
  const api = await testApi(t, { routes, authenticate, authorize });
  const person = async (name: string, options: PersonOptions) => {
    const { headers } = await signedIn(pool, name, options);
    return (method: string, path: string, body?: object) =>
      api.call(method, `/api/v1/projects/${path}`, { headers, ...(body && { body }) });
  };
  const owner = await person('owner', { projects: { [projects.victim]: 'admin' } });
  const attacker = await person('attacker', { projects: { [projects.shop]: 'admin' } });
  const service = (name: string) => ({ name, type: 'postgres', external: { host: `${name}.example.com` } });
  t.equal((await owner('POST', 'victim/services', service('ledger'))).status, 201);
  t.equal((await attacker('POST', 'shop/services', service('orders'))).status, 201);
  return { kube, person, attacker };
}

/** Names under which an attacker may try to reach `ledger` of `victim-prod`. */
const spellings = [
  'ledger',
  'victim-prod/ledger',
  '../victim-prod/ledger',
  '../../victim-prod/services/ledger',
  'ledger.victim-prod',
  'ledger.victim-prod.svc',
  'ledger?environment=prod&project=victim',
  '.',
  '..',
  'LEDGER',
  'ledger ',
];

t.test('no workload is bound to a service of another project, however it is named', async (t) => {
  const { kube, attacker } = await world(t);
  for (const [collection, kind] of Object.entries(collections)) {
    const body = bodies[collection as keyof typeof bodies];
    t.equal((await attacker('POST', `shop/${collection}`, { name: `own-${collection}`, ...body })).status, 201);
    for (const service of spellings) {
      const path = `shop/${collection}/own-${collection}/bindings/${encodeURIComponent(service)}`;
      const put = await attacker('PUT', path, {});
      t.ok(put.status >= 400 && put.status < 500, `${collection} PUT ${service}: ${put.status}`);
      if (collection === 'functions') continue;
      const create = await attacker('POST', `shop/${collection}`, { name: 'new', ...body, bindings: [{ service }] });
      t.ok(create.status >= 400 && create.status < 500, `${collection} POST ${service}: ${create.status}`);
    }
    t.same(
      kube.all<Configurable>(kind).filter(({ spec }) => spec.bindings !== undefined),
      [],
    );
    const foreign = await attacker('PUT', `victim/${collection}/own-${collection}/bindings/ledger`, {});
    t.match(foreign, { status: 404, body: { code: 'not_found' } });
    t.notMatch(JSON.stringify(foreign.body), /ledger/);
  }
});

t.test('a viewer neither reads nor changes secrets and bindings, and a deployer reads no value', async (t) => {
  const { person, attacker } = await world(t);
  const viewer = await person('viewer', { projects: { [projects.shop]: 'viewer' } });
  const deployer = await person('deployer', { projects: { [projects.shop]: 'deployer' } });
  for (const collection of ['apps', 'jobs'] as const) {
    const secrets = { TOKEN: 'hush-hush' };
    const body = { name: collection, ...bodies[collection], secrets };
    t.match(await viewer('POST', `shop/${collection}`, body), { status: 403 });
    t.match(await attacker('POST', `shop/${collection}`, body), { status: 201 });
    const path = `shop/${collection}/${collection}`;
    for (const [method, below, sent] of [
      ['GET', 'secrets/TOKEN', undefined],
      ['PUT', 'secrets/TOKEN', { value: 'mine' }],
      ['DELETE', 'secrets/TOKEN', undefined],
      ['POST', 'secrets/TOKEN/restore', undefined],
      ['PUT', 'bindings/orders', {}],
      ['DELETE', 'bindings/orders', undefined],
      ['PATCH', 'env', { A: '${TOKEN}' }],
    ] as const) {
      t.match(await viewer(method, `${path}/${below}`, sent), { status: 403 }, `${method} ${below}`);
    }
    t.match(await deployer('GET', `${path}/secrets/TOKEN`), { status: 403 });
    // A variable that refers to the secret shows the reference only.
    t.match(await deployer('PATCH', `${path}/env`, { A: '${TOKEN}' }), { status: 200 });
    const seen = await Promise.all(
      ['', '/env', '/secrets', '/bindings'].map((below) => viewer('GET', `${path}${below}`)),
    );
    t.same(
      seen.map(({ status }) => status),
      [200, 200, 200, 200],
    );
    t.notMatch(JSON.stringify(seen.map((answer) => answer.body as unknown)), /hush-hush/);
  }
});
