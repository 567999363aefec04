import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import t from 'tap';
import { eventually, runningPlatform, testProject } from '../support/platform.ts';

const platform = await runningPlatform();
const hello = (version: string) => `localhost:5000/svc/hello:${version}`;

interface Binding {
  status: string;
  database: string;
  variables: string[];
}

t.test('an app is created with a database, secrets and a file of variables in one command', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  await platform.ok(['service', 'create', 'orders', '--type', 'postgres', '--size', '256Mi', '--no-wait', ...flags]);
  const folder = t.testdir();
  const file = join(folder, '.env');
  writeFileSync(file, '# as a developer keeps it\nVERSION="from the file"\nOVERRIDDEN=file\n');
  const headers = 'RESPONSE_HEADERS={"x-database":"${DATABASE_URL}","x-token":"${API_TOKEN}","x-own":"${OVERRIDDEN}"}';
  const environment = ['--env-file', file, '--env', headers, '--env', 'OVERRIDDEN=flag'];
  const create = ['app', 'create', 'api', '--image', hello('v1'), '--bind', 'orders', '--secret', 'API_TOKEN'];
  const typed = await platform.svc([...create, 'API_TOKEN=visible', ...environment, ...flags]);
  t.equal(typed.code, 2, 'a value on the command line is refused');
  process.env['API_TOKEN'] = 'of-this-shell';
  const { url } = await platform.json<{ url: string }>([...create, ...environment, ...flags]);
  const ask = async () => (await platform.request(url)).headers;
  const first = await eventually(ask, (headers) => headers['x-database'] !== undefined);
  t.match(first, { 'x-token': 'of-this-shell', 'x-own': 'flag' });
  const history = await platform.json<object[]>(['app', 'history', 'api', ...flags]);
  t.match(history, [{ revision: 1, status: 'succeeded' }], 'by its first deployment');
  t.equal(history.length, 1);
  t.match(await platform.json(['app', 'show', 'api', ...flags]), {
    bindings: [{ service: 'orders', status: 'ready' }],
  });

  const [pod] = await podsOf(namespace, 'orders');
  const connect = async (address: unknown) => {
    const to = new URL(String(address));
    const { username: user, password, pathname } = to;
    const client = new pg.Client({ host: pod?.ip, port: pod?.port, user, password, database: pathname.slice(1) });
    // An unbind ends the sessions of its user, also one that has just begun.
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  const database = await connect(first['x-database']);
  await database.query('CREATE TABLE items (id int)');
  t.match((await database.query('SELECT current_database() AS name')).rows, [{ name: 'orders_api_prod' }]);
  await database.end();

  const bound = await platform.json<Binding>(['app', 'bind', 'api', 'orders', ...flags]);
  t.match(bound, { status: 'ready', database: 'orders_api_prod', variables: /DATABASE_URL/ });
  t.equal((await platform.json<{ pendingRestart: boolean }>(['app', 'show', 'api', ...flags])).pendingRestart, true);
  await t.rejects(connect(first['x-database']), { code: '28P01' }, 'the old password');
  await platform.ok(['app', 'restart', 'api', ...flags]);
  const second = await eventually(ask, (now) => now['x-database'] !== first['x-database']);
  await platform.ok(['app', 'update', 'api', '--image', hello('v2'), ...flags]);
  await platform.ok(['app', 'rollback', 'api', '--revision', '1', '--with-config', ...flags]);
  const rolledBack = await ask();
  t.equal(rolledBack['x-database'], second['x-database'], 'a rollback brings no old password back');

  const other = await platform.svc(['app', 'create', 'b', '--image', hello('v1'), '--bind', 'nobody', ...flags]);
  t.match([other.code, other.stderr], [1, /no service "nobody".*not_found/]);
  await platform.ok(['app', 'unbind', 'api', 'orders', ...flags]);
  await eventually(
    () =>
      connect(rolledBack['x-database']).then(
        (client) => client.end(),
        (error: unknown) => (error as { code: string }).code,
      ),
    (code) => code === '28P01',
  );
  await platform.ok(['app', 'bind', 'api', 'orders', '--restart', ...flags]);
  const third = await eventually(ask, (now) => now['x-database'] !== rolledBack['x-database']);
  const again = await connect(third['x-database']);
  t.equal((await again.query('SELECT FROM items')).rowCount, 0, 'its database was kept');
  await again.end();
});

async function podsOf(namespace: string, service: string) {
  const { stdout } = await platform.kubectl('-n', namespace, 'get', 'pods', '-l', `app=${service}`, '-o', 'json');
  const { items } = JSON.parse(stdout) as {
    items: { status: { podIP: string }; spec: { containers: { ports: { containerPort: number }[] }[] } }[];
  };
  return items.map(({ status, spec }) => ({ ip: status.podIP, port: spec.containers[0]?.ports[0]?.containerPort }));
}
