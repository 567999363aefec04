import t from 'tap';
import { eventually, runningPlatform, testProject } from '../support/platform.ts';

/** Builds created with `kubectl`. */
const platform = await runningPlatform();
const hello = 'localhost:5000/svc/hello:v1';
const apiVersion = 'platform.svc/v1';

interface Shown {
  metadata: { uid: string };
  status?: { phase?: string; message?: string; endedAt?: string };
}

const apply = (object: object) => platform.kubectlInput(JSON.stringify(object), 'create', '-f', '-');
const readWithKubectl = (namespace: string, what: string, name: string) =>
  platform.kubectl('-n', namespace, 'get', what, name, '--ignore-not-found', '-o', 'name');
/** Deletes an object, and resolves when it is gone. */
async function remove(namespace: string, what: string, name: string): Promise<void> {
  await eventually(
    () => platform.kubectl('-n', namespace, 'delete', what, name, '--ignore-not-found', '--wait=false'),
    ({ code }) => code === 0,
  );
  await eventually(
    () => readWithKubectl(namespace, what, name),
    ({ code, stdout }) => code === 0 && stdout === '',
  );
}
const show = (namespace: string, kind: string, name: string) => async () => {
  const { stdout } = await platform.kubectl('-n', namespace, 'get', kind, name, '-o', 'json');
  return JSON.parse(stdout) as Shown;
};

t.test('a build reports the progress of its Job, and stops it when it is deleted', async (t) => {
  const { namespace } = await testProject(t, platform);
  const source = { url: 'https://git.example.com/shop/api.git' };
  const build = (name: string) =>
    apply({ apiVersion, kind: 'Build', metadata: { name, namespace }, spec: { app: 'api', source } });
  const buildObject = (name: string) => show(namespace, 'sbuild', name);
  /** What a builder reports. */
  const begin = async (name: string, code: string) => {
    const { metadata } = await eventually(buildObject(name), ({ status }) => status?.phase === 'pending');
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
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name, namespace, labels, ownerReferences: [owner] },
      spec: { backoffLimit: 0, template },
    });
    t.equal(created.code, 0, created.stderr);
  };

  t.equal((await build('good')).code, 0);
  t.equal((await build('bad')).code, 0);
  await begin('good', '');
  await begin('bad', 'console.error("no such commit"); process.exit(2)');
  await eventually(buildObject('good'), ({ status }) => status?.phase === 'succeeded');
  const failed = await eventually(buildObject('bad'), ({ status }) => status?.phase === 'failed');
  t.equal(failed.status?.message, 'The program exited with code 2: no such commit');
  t.ok(failed.status?.endedAt);
  await remove(namespace, 'jobs.batch', 'good');
  t.match((await buildObject('good')()).status, { phase: 'succeeded' }, 'the result stays');

  t.equal((await build('long')).code, 0);
  await begin('long', 'setTimeout(() => {}, 600000)');
  await eventually(buildObject('long'), ({ status }) => status?.phase === 'running');
  await remove(namespace, 'sbuild', 'long');
  t.match(await readWithKubectl(namespace, 'jobs.batch', 'long'), { code: 0, stdout: '' }, 'its Job was deleted first');
  const changed = await platform.kubectl(
    '-n',
    namespace,
    'patch',
    'sbuild',
    'good',
    '--type=merge',
    '-p',
    '{"spec":{"app":"web"}}',
  );
  t.match(changed.stderr, /a build cannot be changed/);
});
