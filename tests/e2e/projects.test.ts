import t from 'tap';
import { eventually, runningPlatform, testProject, uniqueName } from '../support/platform.ts';

const platform = await runningPlatform();
const hello = 'localhost:5000/svc/hello:v1';

interface Environment {
  name: string;
  ready: boolean;
  limits: { pods: number };
}

t.test('an environment is bounded by limits and a network policy', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const project = flags[1] ?? '';
  const bounds = async () => {
    const { stdout } = await platform.kubectl('-n', namespace, 'get', 'resourcequota,limitrange,netpol', '-o', 'json');
    return JSON.parse(stdout) as { items: { kind: string; metadata: { name: string }; spec: { hard?: object } }[] };
  };
  const named = ({ kind, metadata }: { kind: string; metadata: { name: string } }) => `${kind} ${metadata.name}`;
  t.same((await bounds()).items.map(named).sort(), [
    'LimitRange svc-environment',
    'NetworkPolicy svc-environment',
    'NetworkPolicy svc-environment-functions',
    'NetworkPolicy svc-environment-services',
    'ResourceQuota svc-environment',
  ]);
  const changed = await platform.json<Environment>(['environment', 'update', 'prod', '--pods', '3', '-p', project]);
  t.match(changed, { name: 'prod', limits: { pods: 3, memory: '32Gi' } });
  await eventually(bounds, ({ items }) => JSON.stringify(items).includes('"pods":"3"'));
  // A bound that is removed is restored at once.
  await platform.kubectl('-n', namespace, 'delete', 'netpol', 'svc-environment');
  await eventually(bounds, ({ items }) => items.map(named).includes('NetworkPolicy svc-environment'));
});

t.test('an environment is deleted with its content, and a new one inherits nothing', async (t) => {
  const { flags } = await testProject(t, platform);
  const project = flags[1] ?? '';
  const staging = ['--project', project, '--environment', 'staging'];
  await platform.ok(['environment', 'create', 'staging', '--project', project]);
  await platform.ok(['app', 'create', 'api', '--image', hello, '--port', '8080', ...staging]);
  await platform.ok(['app', 'create', 'api', '--image', hello, '--port', '8080', ...flags]);
  await platform.ok(['plan', 'create', 'free', '--rate', '5', '--burst', '5', ...staging]);
  await platform.ok(['key', 'create', '--plan', 'free', ...staging]);

  const unasked = await platform.svc(['environment', 'delete', 'staging', '--project', project]);
  t.not(unasked.code, 0);
  t.match(unasked.stderr, /Type staging to confirm/);
  await platform.ok(['environment', 'delete', 'staging', '--project', project, '--yes']);
  t.match(await platform.kubectl('get', 'namespace', `${project}-staging`), { code: 1, stderr: /not found/ });
  const remaining = await platform.json<Environment[]>(['environment', 'list', '--project', project]);
  t.match(remaining, [{ name: 'prod', ready: true }]);
  t.equal(remaining.length, 1);
  t.equal((await platform.json<{ status: string }>(['app', 'show', 'api', ...flags])).status, 'running');

  await platform.ok(['environment', 'create', 'staging', '--project', project]);
  t.same(await platform.json(['key', 'list', ...staging]), []);
  t.same(await platform.json(['plan', 'list', ...staging]), []);
  t.same(await platform.json(['app', 'list', ...staging]), []);
});

t.test('deleting a project requires its name, and deletes its content', async (t) => {
  const project = uniqueName('e2e');
  await platform.ok(['project', 'create', project, '--environment', 'prod', '--environment', 'test']);
  t.teardown(() => platform.svc(['project', 'delete', project, '--yes']));
  await platform.ok(['app', 'create', 'api', '--image', hello, '--port', '8080', '-p', project, '-e', 'test']);
  const unasked = await platform.svc(['project', 'delete', project]);
  t.not(unasked.code, 0);
  t.match(unasked.stderr, new RegExp(`Type ${project} to confirm`));
  await platform.ok(['project', 'delete', project, '--yes']);
  const { stdout } = await platform.kubectl('get', 'namespaces,hostnames', '-o', 'name');
  t.notMatch(stdout, project);
  t.match(await platform.svc(['project', 'show', project]), { stderr: /not_found|no project/ });
});
