import t from 'tap';
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

interface Shown {
  spec: { events?: object };
  status?: { phase: string; message?: string; url?: string; replicas: number; bindings?: { phase: string }[] };
}

t.test('rows wake a function, are delivered and marked as done, and let it go to zero again', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const name = uniqueName('intake');
  await platform.ok(['service', 'create', 'db', '--type', 'postgres', '--size', '128Mi', ...flags]);
  const events = {
    ...{ type: 'postgres', source: 'db', query: 'SELECT id, name FROM orders WHERE NOT done ORDER BY id' },
    markDone: 'UPDATE orders SET done = true WHERE id = {{id}}::bigint',
  };
  const manifest = {
    ...{ apiVersion: 'platform.svc/v1', kind: 'Function', metadata: { name, namespace } },
    spec: {
      ...{ runtime: 'node', code, trigger: 'postgres', events, idleTimeoutSeconds: 4 },
      bindings: [{ service: 'db' }],
    },
  };
  const created = await platform.kubectlInput(JSON.stringify(manifest), 'create', '-f', '-');
  t.equal(created.code, 0, created.stderr);
  const show = async () => {
    const { stdout } = await platform.kubectl('-n', namespace, 'get', 'sfn', name, '-o', 'json');
    return (JSON.parse(stdout) as Shown).status;
  };
  const absent = await eventually(show, (status) => /relation "orders" does not exist/.test(status?.message ?? ''));
  t.match(absent, { phase: 'idle', replicas: 0 });
  t.notHas(absent, 'url', 'nothing leads to it from outside');

  let runs = 0;
  /** Runs statements as the function's own user. @returns the first column of what they answer */
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
    const made = await platform.kubectlInput(
      JSON.stringify({
        ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: pod, namespace } },
        spec: { restartPolicy: 'Never', automountServiceAccountToken: false, containers: [container] },
      }),
      ...['create', '-f', '-'],
    );
    if (made.code !== 0) throw new Error(made.stderr);
    const phase = () => platform.kubectl('-n', namespace, 'get', 'pod', pod, '-o', 'jsonpath={.status.phase}');
    const { stdout } = await eventually(phase, (now) => now.stdout === 'Succeeded' || now.stdout === 'Failed');
    t.equal(stdout, 'Succeeded');
    return (await platform.kubectl('-n', namespace, 'logs', pod)).stdout.trim();
  };
  const table = 'CREATE TABLE orders (id bigserial PRIMARY KEY, name text, done boolean NOT NULL DEFAULT false)';
  await sql(`${table}; INSERT INTO orders (name) VALUES ('first'), ('refused'), ('later'), ('last')`);
  await eventually(show, (status) => status?.phase === 'running');
  const settled = await eventually(show, (status) => status?.phase === 'idle' && status.replicas === 0);
  t.notHas(settled, 'message');
  t.equal(await sql(`SELECT string_agg(name, ' ' ORDER BY id) FROM orders WHERE done`), 'first later last');

  await platform.ok(['function', 'delete', name, '--yes', ...flags]);
  // A pod that was told to end may take its time.
  const left = () => platform.kubectl('-n', namespace, 'get', 'deployments,pods', '-o', 'name');
  await eventually(left, ({ code, stdout }) => code === 0 && !stdout.includes(name));
});
