import t from 'tap';
import { eventually, runningPlatform, testProject } from '../support/platform.ts';

/** Services and Builds as `kubectl` makes them: they have no commands yet. */
const platform = await runningPlatform();
const hello = 'localhost:5000/svc/hello:v1';
const apiVersion = 'platform.svc/v1';

interface Shown {
  metadata: { uid: string };
  status?: { phase?: string; message?: string; host?: string; port?: number; endedAt?: string };
}

const apply = (object: object) => platform.kubectlInput(JSON.stringify(object), 'create', '-f', '-');
const show = (namespace: string, kind: string, name: string) => async () => {
  const { stdout } = await platform.kubectl('-n', namespace, 'get', kind, name, '-o', 'json');
  return JSON.parse(stdout) as Shown;
};

t.test('an external service holds its name until it is deleted', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const metadata = { name: 'orders', namespace };
  const external = { host: 'db.example.com' };
  t.equal((await apply({ apiVersion, kind: 'Service', metadata, spec: { type: 'postgres', external } })).code, 0);
  const ready = await eventually(show(namespace, 'ssvc', 'orders'), ({ status }) => status?.phase === 'ready');
  t.match(ready.status, { host: 'db.example.com', port: 5432 });

  const create = ['app', 'create', 'orders', '--image', hello, '--no-wait', ...flags];
  const refused = await platform.svc(create);
  t.equal(refused.code, 1);
  t.match(refused.stderr, /already used by a service in this environment.*a job and a service cannot share/);

  const changed = await platform.kubectl(
    ...['-n', namespace, 'patch', 'ssvc', 'orders', '--type=merge', '-p', '{"spec":{"type":"mysql"}}'],
  );
  t.match(changed.stderr, /type never changes/);
  t.equal((await platform.kubectl('-n', namespace, 'delete', 'ssvc', 'orders', '--timeout=60s')).code, 0);
  await platform.ok(create);
});

t.test('a build tells how far the job of its name has come, and ends it when it is deleted', async (t) => {
  const { namespace } = await testProject(t, platform);
  const source = { url: 'https://git.example.com/shop/api.git' };
  const build = (name: string) =>
    apply({ apiVersion, kind: 'Build', metadata: { name, namespace }, spec: { app: 'api', source } });
  const look = (name: string) => show(namespace, 'sbuild', name);
  /** What a builder makes. */
  const begin = async (name: string, code: string) => {
    const { metadata } = await eventually(look(name), ({ status }) => status?.phase === 'pending');
    const owner = { apiVersion, kind: 'Build', name, uid: metadata.uid, controller: true };
    const labels = { 'app.kubernetes.io/managed-by': 'kipper' };
    const resources = { limits: { memory: '128Mi' }, requests: { cpu: '10m', memory: '32Mi' } };
    const container = { name: 'build', image: hello, command: ['node', '-e', code], resources };
    const template = {
      metadata: { labels: { ...labels, 'platform.svc/role': 'build' } },
      spec: {
        restartPolicy: 'Never',
        containers: [{ ...container, terminationMessagePolicy: 'FallbackToLogsOnError' }],
      },
    };
    const created = await apply({
      ...{ apiVersion: 'batch/v1', kind: 'Job' },
      metadata: { name, namespace, labels, ownerReferences: [owner] },
      spec: { backoffLimit: 0, template },
    });
    t.equal(created.code, 0, created.stderr);
  };

  t.equal((await build('good')).code, 0);
  t.equal((await build('bad')).code, 0);
  await begin('good', '');
  await begin('bad', 'console.error("no such commit"); process.exit(2)');
  await eventually(look('good'), ({ status }) => status?.phase === 'succeeded');
  const failed = await eventually(look('bad'), ({ status }) => status?.phase === 'failed');
  t.equal(failed.status?.message, 'The program ended with 2: no such commit');
  t.ok(failed.status?.endedAt);
  await platform.kubectl('-n', namespace, 'delete', 'jobs.batch', 'good', '--timeout=60s');
  t.match((await look('good')()).status, { phase: 'succeeded' }, 'an end stays');

  t.equal((await build('long')).code, 0);
  await begin('long', 'setTimeout(() => {}, 600000)');
  await eventually(look('long'), ({ status }) => status?.phase === 'running');
  t.equal((await platform.kubectl('-n', namespace, 'delete', 'sbuild', 'long', '--timeout=60s')).code, 0);
  const left = await platform.kubectl('-n', namespace, 'get', 'jobs.batch', 'long', '--ignore-not-found', '-o', 'name');
  t.equal(left.stdout, '');
  const changed = await platform.kubectl(
    ...['-n', namespace, 'patch', 'sbuild', 'good', '--type=merge', '-p', '{"spec":{"app":"web"}}'],
  );
  t.match(changed.stderr, /a build is never changed/);
});
