import t from 'tap';
import { codeFile } from '../support/code-file.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../support/platform.ts';
import { postgresProbe } from '../support/store-probes.ts';

const platform = await runningPlatform();
const hello = 'localhost:5000/svc/hello:v1';
const code = `
export function handler(event, context) {
  if (event?.name === 'refused') return { statusCode: 400 };
  if (event?.name === 'later' && !globalThis.asked) return globalThis.asked = { statusCode: 500 };
  return { body: 'ok' };
}`;

/** Asks its database for 42, with only the variables of the binding. */
const readerCode = `
import { execFileSync } from 'node:child_process';
const probe = ${JSON.stringify(postgresProbe)};
export function handler() {
  const { DB_HOST: host, DB_NAME: database } = process.env;
  const env = { ...process.env, DB_DATABASE: database };
  const said = execFileSync(process.execPath, ['-e', probe], { env, encoding: 'utf8' }).trim();
  return { body: { host, database, said } };
}`;

interface Shown {
  spec: { events?: object };
  status?: { phase: string; message?: string; url?: string; replicas: number; bindings?: { phase: string }[] };
}

t.test('rows wake a function, are delivered and marked as done, and it scales to zero again', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const name = uniqueName('intake');
  await platform.ok(['service', 'create', 'db', '--type', 'postgres', '--size', '128Mi', ...flags]);
  const events = [
    '--trigger',
    'postgres',
    '--source',
    'db',
    '--idle-timeout',
    '4s',
    '--query',
    'SELECT id, name FROM orders WHERE NOT done ORDER BY id',
    '--mark-done',
    'UPDATE orders SET done = true WHERE id = {{id}}::bigint',
  ];
  await platform.ok(['function', 'create', name, '--code-file', codeFile(t, 'intake.mjs', code), ...events, ...flags]);
  const show = async () => {
    const { stdout } = await platform.kubectl('-n', namespace, 'get', 'sfn', name, '-o', 'json');
    return (JSON.parse(stdout) as Shown).status;
  };
  const absent = await eventually(show, (status) => /relation "orders" does not exist/.test(status?.message ?? ''));
  t.match(absent, { phase: 'idle', replicas: 0 });
  t.notHas(absent, 'url', 'nothing leads to it from outside');

  let runs = 0;
  /** Runs statements as the function's own user. @returns the first column of the result */
  const sql = async (statements: string): Promise<string> => {
    const pod = `sql-${++runs}`;
    const fields = ['host', 'port', 'username', 'password', 'database'];
    const env = [
      { name: 'DB_STATEMENTS', value: statements },
      ...fields.map((key) => ({
        name: `DB_${key.toUpperCase()}`,
        valueFrom: { secretKeyRef: { name: `function-${name}-binding-db`, key } },
      })),
    ];
    const resources = { limits: { memory: '128Mi' }, requests: { cpu: '10m', memory: '32Mi' } };
    const container = { name: 'sql', image: hello, command: ['node', '-e', postgresProbe], env, resources };
    const creation = await platform.kubectlInput(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: pod, namespace },
        spec: { restartPolicy: 'Never', automountServiceAccountToken: false, containers: [container] },
      }),
      'create',
      '-f',
      '-',
    );
    if (creation.code !== 0) throw new Error(creation.stderr);
    const phase = () => platform.kubectl('-n', namespace, 'get', 'pod', pod, '-o', 'jsonpath={.status.phase}');
    const { stdout } = await eventually(phase, (now) => now.stdout === 'Succeeded' || now.stdout === 'Failed');
    t.equal(stdout, 'Succeeded');
    return (await platform.kubectl('-n', namespace, 'logs', pod)).stdout.trim();
  };
  const table = 'CREATE TABLE orders (id bigserial PRIMARY KEY, name text, done boolean NOT NULL DEFAULT false)';
  await sql(`${table}; INSERT INTO orders (name) VALUES ('first'), ('refused'), ('later'), ('last')`);
  await eventually(show, (status) => status?.phase === 'running');
  const idleStatus = await eventually(show, (status) => status?.phase === 'idle' && status.replicas === 0);
  t.notHas(idleStatus, 'message');
  t.equal(await sql(`SELECT string_agg(name, ' ' ORDER BY id) FROM orders WHERE done`), 'first later last');
  const [dead] = await platform.json<{ id: string; payload: string }[]>([
    'function',
    'dead-letters',
    'list',
    name,
    ...flags,
  ]);
  t.equal(dead?.payload, '{"id":2,"name":"refused"}');
  await platform.ok(['function', 'dead-letters', 'purge', name, '--id', dead?.id ?? '', '--yes', ...flags]);

  // Another function of the same service, with the variables of its binding, until it is unbound.
  const reader = uniqueName('reader');
  const file = codeFile(t, 'reader.mjs', readerCode);
  await platform.ok(['function', 'create', reader, '--code-file', file, ...flags]);
  const bound = await platform.json<{ database: string; variables: string[] }>([
    'function',
    'bind',
    reader,
    'db',
    ...flags,
  ]);
  t.same(bound.variables, ['DB_HOST', 'DB_PORT', 'DB_USERNAME', 'DB_PASSWORD', 'DB_NAME', 'DATABASE_URL']);
  const { url } = await platform.json<{ url: string }>(['function', 'show', reader, ...flags]);
  const read = () => platform.request(url);
  const first = await eventually(read, ({ status: answer }) => answer === 200);
  t.same(first.json(), { host: `db.${namespace}.svc`, database: bound.database, said: '42' });
  await platform.ok(['function', 'unbind', reader, 'db', ...flags]);
  const later = await eventually(read, (answer) => answer.json()['said'] === '');
  t.match(
    later.json(),
    { host: `db.${namespace}.svc` },
    'a running pod keeps its variables, which are no longer valid',
  );
  t.match(await platform.ok(['function', 'bindings', name, ...flags]), /db +postgres +ready/, 'other bindings stay');

  await platform.ok(['function', 'delete', name, reader, '--yes', ...flags]);
  // A terminating pod may take time.
  const listObjects = () => platform.kubectl('-n', namespace, 'get', 'deployments,pods', '-o', 'name');
  await eventually(listObjects, ({ code, stdout }) => code === 0 && !stdout.includes(name) && !stdout.includes(reader));
});
