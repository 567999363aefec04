import t from 'tap';
import { codeFile } from '../support/code-file.ts';
import { eventually, runningPlatform, testProject, type Platform } from '../support/platform.ts';
import { mongoProbe, mysqlProbe, postgresProbe, redisProbe, s3Probe } from '../support/store-probes.ts';

const platform = await runningPlatform();
const hello = 'localhost:5000/svc/hello:v1';

interface Service {
  status: string;
  host: string;
  port: number;
}

/**
 * Runs Node code in a pod of the environment that has the service's or a binding's credentials, and resolves to its
 * output.
 */
async function runBeside(
  at: Platform,
  {
    namespace,
    name,
    service,
    secret = `service-${name}-credentials`,
    fields,
    code,
  }: { namespace: string; name: string; service: Service; secret?: string; fields: readonly string[]; code: string },
): Promise<string> {
  const fromSecret = (field: string) => ({
    name: `DB_${field.toUpperCase()}`,
    valueFrom: { secretKeyRef: { name: secret, key: field } },
  });
  const env = [
    { name: 'DB_HOST', value: service.host },
    { name: 'DB_PORT', value: String(service.port) },
    ...fields.map(fromSecret),
  ];
  const resources = { limits: { memory: '128Mi' }, requests: { cpu: '10m', memory: '32Mi' } };
  const container = { name: 'probe', image: hello, command: ['node', '-e', code], env, resources };
  const probe = `probe-${name}`;
  const created = await at.kubectlInput(
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: probe, namespace },
      spec: { restartPolicy: 'Never', automountServiceAccountToken: false, containers: [container] },
    }),
    'create',
    '-f',
    '-',
  );
  if (created.code !== 0) throw new Error(created.stderr);
  const phase = () => at.kubectl('-n', namespace, 'get', 'pod', probe, '-o', 'jsonpath={.status.phase}');
  await eventually(phase, ({ stdout }) => stdout === 'Succeeded' || stdout === 'Failed');
  return (await at.kubectl('-n', namespace, 'logs', probe)).stdout.trim();
}

t.test('PostgreSQL and Redis of an environment require their password, and are deleted with their data', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const servers = [
    ['orders', 'postgres', postgresProbe, ['username', 'password', 'database']],
    ['cache', 'redis', redisProbe, ['password']],
  ] as const;
  for (const [name, type] of servers) {
    await platform.ok(['service', 'create', name, '--type', type, '--size', '128Mi', '--no-wait', ...flags]);
  }
  const show = (name: string) => platform.json<Service>(['service', 'show', name, ...flags]);
  for (const [name, , code, fields] of servers) {
    const service = await eventually(
      () => show(name),
      ({ status }) => status === 'ready' || status === 'failed',
    );
    t.match(service, { status: 'ready', host: `${name}.${namespace}.svc` });
    t.equal(await runBeside(platform, { namespace, name, service, fields, code }), '42', name);
  }
  const claims = () => platform.kubectl('-n', namespace, 'get', 'pvc,statefulset,secret', '-o', 'name');
  t.match((await claims()).stdout, /data-orders-0/);
  await platform.ok(['service', 'delete', 'orders', 'cache', '--yes', ...flags]);
  const remaining = (await claims()).stdout.split('\n').filter((name) => /orders|cache/.test(name));
  t.same(remaining, []);
});

t.test('MariaDB requires its password; where it is not installed, the error names the command', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const name = 'ledger';
  const created = await platform.svc(['service', 'create', name, '--type', 'mysql', '--size', '256Mi', ...flags]);
  if (created.code !== 0) {
    t.equal(platform.info.target, 'local', created.stderr);
    t.match(created.stderr, /apt-get install mariadb-server.*service_not_installed/);
    return;
  }
  const service = await platform.json<Service>(['service', 'show', name, ...flags]);
  const fields = ['username', 'password', 'database'];
  t.equal(await runBeside(platform, { namespace, name, service, fields, code: mysqlProbe }), '42');
  await platform.ok(['service', 'delete', name, '--yes', ...flags]);
});

t.test('MinIO requires its keys; where it is not installed, the error names the command', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const name = 'files';
  const created = await platform.svc(['service', 'create', name, '--type', 'minio', '--size', '256Mi', ...flags]);
  if (created.code !== 0) {
    t.equal(platform.info.target, 'local', created.stderr);
    t.match(created.stderr, /go install github\.com\/minio\/minio@.*service_not_installed/);
    return;
  }
  const service = await platform.json<Service>(['service', 'show', name, ...flags]);
  const fields = ['accessKey', 'secretKey', 'region'];
  t.equal(await runBeside(platform, { namespace, name, service, fields, code: s3Probe }), '42');
  await platform.ok(['service', 'delete', name, '--yes', ...flags]);
});

t.test(
  'FerretDB has a user for a bound function; where it is not installed, the error names the command',
  async (t) => {
    const { namespace, flags } = await testProject(t, platform);
    const name = 'docs';
    const created = await platform.svc(['service', 'create', name, '--type', 'mongodb', '--size', '128Mi', ...flags]);
    if (created.code !== 0) {
      t.equal(platform.info.target, 'local', created.stderr);
      t.match(created.stderr, /npm run program -- ferretdb .*service_not_installed/);
      return;
    }
    const service = await platform.json<Service>(['service', 'show', name, ...flags]);
    t.match(service, { status: 'ready', host: `${name}.${namespace}.svc`, port: 27_017 });
    const file = codeFile(t, 'notes.mjs', 'export const handler = () => ({ body: "ok" });');
    await platform.ok(['function', 'create', 'notes', '--code-file', file, ...flags]);
    await platform.ok(['function', 'bind', 'notes', name, ...flags]);
    const [secret, fields] = ['function-notes-binding-docs', ['username', 'password', 'database']];
    t.equal(await runBeside(platform, { namespace, name, service, secret, fields, code: mongoProbe }), '42');
    await platform.ok(['function', 'unbind', 'notes', name, '--drop-database', '--yes', ...flags]);
    await platform.ok(['service', 'delete', name, '--yes', ...flags]);
  },
);

t.test('an external service holds its name until it is deleted, and its password is kept separately', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const external = ['--type', 'postgres', '--external', 'db.example.com', '--username', 'shop', '--password-stdin'];
  const service = await platform.ok(['service', 'create', 'orders', ...external, ...flags], 'correct horse');
  t.match(service, /Host: +db\.example\.com/);
  const access = await platform.json<object>(['service', 'credentials', 'orders', ...flags]);
  t.match(access, { host: 'db.example.com', port: 5432, username: 'shop', password: 'correct horse' });
  const object = await platform.kubectl('-n', namespace, 'get', 'ssvc', 'orders', '-o', 'json');
  t.notMatch(object.stdout, /correct horse/);

  const create = ['app', 'create', 'orders', '--image', hello, '--no-wait', ...flags];
  const refused = await platform.svc(create);
  t.equal(refused.code, 1);
  t.match(refused.stderr, /already used by a service in this environment.*a job and a service cannot share/);
  for (const [patch, message] of [
    [{ type: 'mysql' }, /type cannot be changed/],
    [{ storage: { size: '1Gi' } }, /an external service cannot have storage/],
  ] as const) {
    const args = ['-n', namespace, 'patch', 'ssvc', 'orders', '--type=merge', '-p', JSON.stringify({ spec: patch })];
    t.match((await platform.kubectl(...args)).stderr, message);
  }
  await platform.ok(['service', 'delete', 'orders', '--yes', ...flags]);
  await platform.ok(create);
});
