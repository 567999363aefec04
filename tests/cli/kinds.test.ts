import t from 'tap';
import { createdAt, id, world, type Routes } from './world.ts';

const project = '/api/v1/projects/shop';
const workload = { id, project: 'shop', environment: 'prod', status: 'running', createdAt };
const usage = { allowed: 0, rateDenied: 0, quotaDenied: 0 };
const change = { version: 7 };

/** The kinds that commands delete, with two objects of each. */
const kinds: { command: string[]; path: string; view: (name: string) => object; deleted?: (name: string) => object }[] =
  [
    {
      command: ['app', 'delete'],
      path: `${project}/apps`,
      view: (name) => ({
        ...workload,
        name,
        image: 'r/x:1',
        port: 80,
        replicas: 1,
        readyReplicas: 1,
        env: {},
        volumes: [],
        extraHosts: [],
        gate: 'off',
        autoRollback: true,
        pendingRestart: false,
        security: { headers: true, csp: null },
      }),
    },
    {
      command: ['volume', 'delete'],
      path: `${project}/volumes`,
      view: (name) => ({ ...workload, name, status: 'ready', size: '1Gi', accessMode: 'ReadWriteOnce', mountedBy: [] }),
    },
    {
      command: ['service', 'delete'],
      path: `${project}/services`,
      view: (name) => ({ ...workload, name, type: 'redis', external: false, status: 'ready', tls: false }),
    },
    {
      command: ['plan', 'delete'],
      path: `${project}/plans`,
      view: (name) => ({ id, name, environment: 'prod', requestsPerSecond: 1, burst: 1, keys: 0, createdAt }),
      deleted: (name) => ({ id, name, change }),
    },
    {
      command: ['key', 'revoke', '--no-wait'],
      path: `${project}/api-keys`,
      view: (handle) => ({
        id,
        handle,
        environment: 'prod',
        plan: 'x',
        enabled: true,
        usage,
        createdAt,
        createdBy: 'a',
      }),
      deleted: (handle) => ({ id, handle, change }),
    },
    {
      command: ['notification', 'delete'],
      path: `${project}/notifications`,
      view: (name) => ({ id, name, url: 'https://a', events: [], enabled: true, createdAt, updatedAt: createdAt }),
    },
    {
      command: ['user', 'delete'],
      path: '/api/v1/users',
      view: (email) => ({ id, email, role: 'member', status: 'active', createdAt }),
    },
    {
      command: ['project', 'delete'],
      path: '/api/v1/projects',
      view: (name) => ({ name, status: 'ready', environments: [], createdAt }),
    },
  ];

for (const { command, path, view, deleted } of kinds) {
  t.test(`${command.slice(0, 2).join(' ')} accepts several names, and checks all of them first`, async (t) => {
    const routes: Routes = {};
    const cli = await world(t, routes);
    for (const name of ['aa11bb22', 'cc33dd44']) {
      routes[`GET ${path}/${name}`] = { body: view(name) };
      routes[`DELETE ${path}/${name}`] = () => {
        routes[`GET ${path}/${name}`] = undefined;
        return deleted ? { body: deleted(name) } : { status: 204 };
      };
    }
    const deletions = () => cli.seen.filter(({ method }) => method === 'DELETE').map((call) => call.path);

    const wrong = await cli.run([...command, 'aa11bb22', 'none', '--yes']);
    t.match(wrong, { code: 1, stderr: /not_found/ });
    t.same(deletions(), []);

    const unconfirmed = await cli.run([...command, 'aa11bb22', 'cc33dd44']);
    t.match(unconfirmed, { code: 2, stderr: /--yes/ });
    t.same(deletions(), []);

    const ran = await cli.run([...command, 'aa11bb22', 'cc33dd44', '--yes']);
    t.equal(ran.code, 0, ran.stderr);
    t.match(ran.stderr, /aa11bb22 is (deleted|revoked)\n(.*\n)*.*cc33dd44 is (deleted|revoked)\n/);
    t.same(deletions(), [`${path}/aa11bb22`, `${path}/cc33dd44`]);
  });
}

t.test('member remove and environment delete look up every name in the list first', async (t) => {
  const member = { userId: id, email: 'dana@example.com', role: 'viewer', since: createdAt };
  const prod = { name: 'prod', namespace: 'shop-prod', ready: true };
  const { run, seen } = await world(t, {
    [`GET ${project}/members`]: { body: { items: [member] } },
    [`GET ${project}/environments`]: { body: { items: [prod] } },
  });
  const members = await run(['member', 'remove', 'dana@example.com', 'eve@example.com', '--yes']);
  t.match(members, { code: 1, stderr: /Project "shop" has no member "eve@example.com"/ });
  const environments = await run(['environment', 'delete', 'prod', 'staging', '--yes']);
  t.match(environments, { code: 1, stderr: /Project "shop" has no environment "staging".*it has prod/s });
  t.notOk(seen.some(({ method }) => method === 'DELETE'));
});

t.test('project show takes the project in use; gate status and gate show are the same', async (t) => {
  const project = { id, name: 'shop', status: 'ready', environments: [], createdAt };
  const { run, seen } = await world(t, {
    'GET /api/v1/projects/shop': { body: project },
    'GET /api/v1/projects/shop/apps/api/gate': { body: { gate: 'off' } },
  });
  const shown = await run(['project', 'show']);
  t.match(shown, { code: 0, stdout: /^Project: +shop\n/ });
  t.same(shown, await run(['project', 'show', 'shop']));
  t.match(await run(['project', 'show'], { env: { SVC_PROJECT: '' } }), { code: 2, stderr: /No project is set/ });
  await run(['app', 'gate', 'show', 'api']);
  await run(['app', 'gate', 'status', 'api']);
  t.same(
    seen.slice(2).map(({ path }) => path),
    Array(2).fill('/api/v1/projects/shop/apps/api/gate'),
  );
});

t.test('a list without an environment has the objects of all environments of the project', async (t) => {
  const required = { status: 400, body: { code: 'environment_required', message: 'Name an environment: dev, prod.' } };
  const environments = ['dev', 'prod', 'gone'].map((name) => ({
    name,
    project: 'shop',
    namespace: `shop-${name}`,
    ready: true,
  }));
  const inEnvironments = ['apps', 'volumes', 'services'].map((collection) => `${project}/${collection}`);
  for (const { command, path, view } of kinds.filter(({ path }) => inEnvironments.includes(path))) {
    const kind = command[0] ?? '';
    const cli = await world(t, {
      [`GET ${project}/environments`]: { body: { items: environments } },
      [`GET ${path}`]: ({ query: { environment } }) => {
        if (environment === undefined) return required;
        if (environment === 'gone') return { status: 404, body: { code: 'not_found', message: 'It is deleted.' } };
        return {
          body: {
            items: [
              { ...view(`in-${environment}`), environment },
              { ...view('both'), environment },
            ],
          },
        };
      },
    });
    const { code, stdout, stderr } = await cli.run([kind, 'list'], { env: { SVC_ENVIRONMENT: '' } });
    t.equal(code, 0, stderr);
    t.match(stdout.split('\n')[0], /^\w+ +ENVIRONMENT /, kind);
    const rows = stdout
      .split('\n')
      .slice(1, -1)
      .map((line) => line.split(/ +/).slice(0, 2).join(' '));
    t.same(rows, ['in-dev dev', 'both dev', 'in-prod prod', 'both prod'], kind);
    const one = await cli.run([kind, 'list', '--environment', 'prod']);
    t.notMatch(one.stdout, 'ENVIRONMENT');
    t.match(one.stdout, /in-prod/);
  }
});
