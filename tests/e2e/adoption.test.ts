import t from 'tap';
import { eventually, runningPlatform, testProject } from '../support/platform.ts';

const platform = await runningPlatform();
const hello = 'localhost:5000/svc/hello:v1';

interface Shown {
  status: string;
  message?: string;
  url: string;
}

interface Condition {
  type: string;
  status: string;
  reason: string;
  message: string;
}

async function adopted(namespace: string, name: string): Promise<Condition | undefined> {
  const { stdout } = await platform.kubectl('-n', namespace, 'get', 'apps.platform.svc', name, '-o', 'json');
  const { status } = JSON.parse(stdout) as { status?: { conditions?: Condition[] } };
  return status?.conditions?.find(({ type }) => type === 'ChildrenAdopted');
}

t.test('an object that the platform did not create stops the pass until it is deleted', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const show = () => platform.json<Shown>(['app', 'show', 'api', ...flags]);
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'api', namespace },
    spec: { ports: [{ port: 1 }] },
  };
  const creation = await platform.kubectlInput(JSON.stringify(service), 'create', '-f', '-');
  t.equal(creation.code, 0, creation.stderr);
  await platform.ok(['app', 'create', 'api', '--image', hello, '--port', '8080', '--no-wait', ...flags]);
  const failed = await eventually(show, ({ status }) => status === 'failed');
  t.match(failed.message, /Service "api".*was not created by the platform.*Delete or rename it or.*managed-by=kipper/);
  t.match(await adopted(namespace, 'api'), {
    status: 'False',
    reason: 'ChildReconcileFailed',
    message: /Service "api"/,
  });
  const routes = await platform.kubectl('-n', namespace, 'get', 'ingressroute', '-o', 'name');
  t.equal(routes.stdout, '', 'the steps after it are skipped');
  const events = async () => {
    const { stdout } = await platform.kubectl(
      '-n',
      namespace,
      'get',
      'events',
      '-o',
      'json',
      '--field-selector',
      'reason=ReconcileFailed',
    );
    return (JSON.parse(stdout) as { items: { type: string; involvedObject: { name: string } }[] }).items;
  };
  // The Event follows the status.
  const items = await eventually(events, (events) => events.length > 0);
  t.equal(items.length, 1, 'one Event for any number of failures');
  t.match(items, [{ type: 'Warning', involvedObject: { kind: 'App', name: 'api' } }]);

  await platform.kubectl('-n', namespace, 'delete', 'service', 'api');
  await eventually(show, ({ status }) => status === 'running');
  t.match(await adopted(namespace, 'api'), { status: 'True' });
});

t.test('removing a label stops changes but not the app; restoring it resumes them', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const show = () => platform.json<Shown>(['app', 'show', 'api', ...flags]);
  await platform.ok(['app', 'create', 'api', '--image', hello, '--port', '8080', ...flags]);
  const { url } = await show();
  const serves = async () => (await platform.request(url)).status === 200;
  await eventually(serves, (answer) => answer);

  await platform.kubectl('-n', namespace, 'label', 'service', 'api', 'app.kubernetes.io/managed-by-');
  const failed = await eventually(show, ({ status }) => status === 'failed');
  t.match(failed.message, /Service "api"/);
  t.ok(await serves(), 'the running pods keep serving');
  await platform.kubectl('-n', namespace, 'label', 'service', 'api', 'app.kubernetes.io/managed-by=kipper');
  await eventually(show, ({ status }) => status === 'running');
  t.match(await adopted(namespace, 'api'), { status: 'True', reason: 'AllReconciled' });
});
