import t from 'tap';
import { isShared } from '../../infra/manifests/workload-route.ts';
import { codeFile } from '../support/code-file.ts';
import { eventually, runningPlatform, testProject } from '../support/platform.ts';

const platform = await runningPlatform();
const hello = (version: string) => `localhost:5000/svc/hello:${version}`;

t.test('an app is created, answers at its public host, and leaves nothing when it is deleted', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const created = await platform.svc(['app', 'create', 'api', '--image', hello('v1'), '--port', '8080', ...flags]);
  t.equal(created.code, 0, created.stderr);
  const app = await platform.json<{ url: string; status: string }>(['app', 'show', 'api', ...flags]);
  t.equal(app.status, 'running');
  t.match(app.url, `http://api--${namespace}.${platform.info.appsDomain}`);

  const answer = await eventually(
    () => platform.request(app.url),
    (reply) => reply.status === 200,
  );
  t.match(answer.json(), { app: 'hello', version: 'v1' });

  const objects = await platform.kubectl('-n', namespace, 'get', 'deploy,svc,ingressroute', '-o', 'json');
  const items = (JSON.parse(objects.stdout) as { items: { kind: string; metadata: { labels: object } }[] }).items;
  t.same(items.map((item) => item.kind).sort(), ['Deployment', 'IngressRoute', 'Service']);
  for (const item of items) t.match(item.metadata.labels, { 'app.kubernetes.io/managed-by': 'kipper' });

  await platform.ok(['app', 'delete', 'api', '--yes', ...flags]);
  const own = await platform.kubectl(
    '-n',
    namespace,
    'get',
    '-o',
    'name',
    'apps.platform.svc,workloadnames,deploy,svc,ingressroute,middleware',
  );
  t.equal(own.code, 0);
  // Middlewares that all routes share belong to the environment.
  const middlewarePrefix = 'middleware.traefik.io/';
  const left = own.stdout.split('\n').filter((line) => line !== '' && !isShared(line.replace(middlewarePrefix, '')));
  t.same(left, []);
  // The cluster's garbage collector decides when it deletes dependent objects.
  await eventually(
    () => platform.kubectl('-n', namespace, 'get', '-o', 'name', 'rs,pods,secret'),
    ({ code, stdout }) => code === 0 && stdout === '',
  );
  const hosts = await platform.kubectl('get', 'hostnames', '-o', 'name');
  t.notMatch(hosts.stdout, new RegExp(`api--${namespace}`));
  await eventually(
    () => platform.request(app.url),
    ({ status }) => status === 404,
  );
});

t.test('refusals say what to do, exit non-zero, print nothing on stdout and leave nothing behind', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const refusals: [string[], RegExp][] = [
    [['app', 'create', 'Api', '--image', hello('v1'), ...flags], /invalid_value/],
    [['app', 'create', 'api', '--image', 'hello', ...flags], /invalid_value/],
    [['app', 'create', 'api', '--image', 'x; rm -rf /', ...flags], /invalid_value/],
    [['app', 'create', 'api', '--image', hello('v1'), '--port', '70000', ...flags], /invalid_request|usage|port/],
    [['app', 'show', 'nothing', ...flags], /not_found/],
    [['app', 'create', 'api', '--image', hello('v1'), '--project', 'no-such-project'], /not_found/],
    [['app', 'history', 'nothing', ...flags], /not_found/],
    [['project', 'create', 'kube', '--environment', 'system'], /reserved/],
  ];
  for (const [args, expected] of refusals) {
    const ended = await platform.svc(args);
    t.not(ended.code, 0, args.join(' '));
    t.equal(ended.stdout, '', args.join(' '));
    t.match(ended.stderr, expected, args.join(' '));
  }
  const remaining = await platform.kubectl(
    '-n',
    namespace,
    'get',
    'apps.platform.svc,workloadnames,deploy',
    '-o',
    'name',
  );
  t.equal(remaining.stdout, '');
});

t.test('a name is held by one workload of any kind, and the refusal names that kind', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  await platform.ok(['app', 'create', 'same', '--image', hello('v1'), '--no-wait', ...flags]);
  const file = codeFile(t, 'same.js', 'export const handler = () => ({ statusCode: 200, body: "x" });');
  const refused = await platform.svc([
    'function',
    'create',
    'same',
    '--runtime',
    'node',
    '--code-file',
    file,
    ...flags,
  ]);
  t.equal(refused.code, 1);
  t.match(refused.stderr, /already used by an app in this environment/);
  // The object of the refused function goes once its controller has let it go.
  const functions = await eventually(
    () => platform.kubectl('-n', namespace, 'get', 'functions.platform.svc', '-o', 'name'),
    ({ stdout }) => stdout === '',
  );
  t.equal(functions.stdout, '');
});

t.test('an image that cannot be pulled fails its deployment with the reason', async (t) => {
  const { flags } = await testProject(t, platform);
  await platform.ok(['app', 'create', 'api', '--image', hello('v1'), ...flags]);
  const updated = await platform.svc(['app', 'update', 'api', '--image', hello('never-built'), ...flags]);
  t.equal(updated.code, 1);
  t.match(updated.stderr, /failed/);
  t.match(updated.stderr, /pull/i);
  const app = await platform.json<{ url: string }>(['app', 'show', 'api', ...flags]);
  const answer = await eventually(
    () => platform.request(app.url),
    ({ status }) => status === 200,
  );
  t.match(answer.json(), { version: 'v1' }, 'the previous release keeps serving');
});
