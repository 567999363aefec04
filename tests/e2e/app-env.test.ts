import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { startLoad } from '../support/load.ts';
import { eventually, runningPlatform, testProject } from '../support/platform.ts';

const platform = await runningPlatform();
const hello = (version: string) => `localhost:5000/svc/hello:${version}`;

interface Shown {
  url: string;
  status: string;
  pendingRestart: boolean;
  readyReplicas: number;
}

interface Listed<T> {
  items: ({ metadata: { name: string } } & T)[];
}

async function listed<T>(namespace: string, what: string): Promise<Listed<T>['items']> {
  const { stdout } = await platform.kubectl('-n', namespace, 'get', what, '-o', 'json');
  return (JSON.parse(stdout) as Listed<T>).items;
}

type Said = [version: unknown, token: unknown];

/** The version and the variable that hello reports. */
async function environmentAt(url: string): Promise<Said | []> {
  const answer = await platform.request(url);
  return answer.status === 200 ? [answer.json()['version'], answer.headers['x-token']] : [];
}

/** Until the ingress sends requests to pods with these values. */
async function says(url: string, expected: Said): Promise<void> {
  await eventually(
    () => environmentAt(url),
    (now) => now.length > 0 && isDeepStrictEqual(now, expected),
  );
}

t.test('variables and secrets reach the pods with a restart, and their values nothing else', async (t) => {
  const { project, namespace, flags } = await testProject(t, platform);
  const env = ['--env', 'VERSION=${NAME}-$$', '--env', 'NAME=first'];
  await platform.ok(['app', 'create', 'api', '--image', hello('v1'), ...env, ...flags]);
  const show = () => platform.json<Shown>(['app', 'show', 'api', ...flags]);
  const { url, pendingRestart } = await show();
  t.equal(pendingRestart, false);
  await says(url, ['first-$', undefined]);

  const [one, two] = ['correct-horse-battery', 'staple-and-a-half'];
  const setToken = (value: string, ...more: string[]) =>
    platform.ok(['app', 'secret', 'set', 'api', 'TOKEN', '--value-stdin', ...more, ...flags], value);
  await setToken(one);
  await platform.ok(['app', 'env', 'set', 'api', 'RESPONSE_HEADERS={"x-token":"${TOKEN}"}', 'NAME=second', ...flags]);
  t.equal((await show()).pendingRestart, true);
  t.same(await environmentAt(url), ['first-$', undefined], 'running pods keep their environment');
  await platform.ok(['app', 'restart', 'api', ...flags]);
  await says(url, ['second-$', one]);
  t.equal((await show()).pendingRestart, false);
  await setToken(two, '--restart');
  await says(url, ['second-$', two]);
  await platform.ok(['app', 'secret', 'restore', 'api', 'TOKEN', '--restart', ...flags]);
  await says(url, ['second-$', one]);
  t.equal(await platform.ok(['app', 'secret', 'reveal', 'api', 'TOKEN', ...flags]), one);

  const refusals: [string[], number, RegExp][] = [
    [['env', 'set', 'api', 'NAME=${VERSION}'], 2, /NAME → VERSION → NAME.*invalid_value/],
    [['env', 'set', 'api', 'X=${NOBODY}'], 2, /"NOBODY", which is not set/],
    [['env', 'set', 'api', 'PORT=1'], 2, /set by the platform/],
    [['env', 'delete', 'api', 'NAME'], 2, /"VERSION" refers to "NAME"/],
    [['secret', 'delete', 'api', 'TOKEN', '--yes'], 1, /RESPONSE_HEADERS refers to/],
    [['env', 'delete', 'api', 'NONE'], 1, /not_found/],
  ];
  for (const [args, code, expected] of refusals) {
    const refused = await platform.svc(['app', ...args, ...flags]);
    t.equal(refused.code, code, args.join(' '));
    t.match(refused.stderr, expected);
  }

  // A rollback restores an image and keeps the current environment.
  await platform.ok(['app', 'update', 'api', '--image', hello('v2'), ...flags]);
  await platform.ok(['app', 'rollback', 'api', ...flags]);
  await says(url, ['second-$', one]);

  const secrets = await eventually(
    () => listed<{ immutable?: boolean }>(namespace, 'secrets'),
    (items) => items.filter(({ metadata }) => metadata.name.startsWith('app-api-env-')).length <= 3,
  );
  t.ok(
    secrets.some(({ metadata, immutable }) => metadata.name.startsWith('app-api-env-') && immutable),
    'old environments are deleted when no ReplicaSet in the history uses them',
  );
  const environments = [
    ...(await listed(namespace, 'apps.platform.svc,deployments,replicasets,pods,events')),
    await platform.json(['app', 'secret', 'list', 'api', ...flags]),
    await platform.json(['app', 'env', 'list', 'api', ...flags]),
  ];
  t.notMatch(JSON.stringify(environments), new RegExp(`${one}|${two}`));
  for (const name of ['console-api', 'svc-workers', 'svc-controllers']) {
    // A line reaches the log a moment after it was written.
    const pattern =
      name === 'console-api' ? new RegExp(`^(?=.*"action":"secret\\.reveal").*"project":"${project}"`, 'm') : /^/;
    const logs = await eventually(
      () => platform.kubectl('-n', 'svc-system', 'logs', '-l', `app=${name}`, '--tail=-1', '--since=30m'),
      ({ stdout }) => pattern.test(stdout),
    );
    t.notMatch(logs.stdout, new RegExp(`${one}|${two}`), name);
  }
});

t.test('changed settings replace the pods of the same revision one by one', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  await platform.ok(['app', 'create', 'api', '--image', hello('v1'), ...flags]);
  const { url } = await platform.json<Shown>(['app', 'show', 'api', ...flags]);
  await says(url, ['v1', undefined]);
  const load = startLoad(platform, url);
  t.teardown(() => load.stop());
  const settings = ['--memory', '96Mi', '--cpu', '200m', '--port', '9090', '--health-path', '/healthz'];
  await platform.ok(['app', 'update', 'api', ...settings, '--replicas', '2', ...flags]);
  t.same((await load.stop()).failures, [], 'no request was lost');
  interface Pod {
    spec: { containers: { resources: object; ports: object[]; readinessProbe: object }[] };
    metadata: { name: string; deletionTimestamp?: string };
  }
  const pods = (await listed<Pod>(namespace, 'pods')).filter(({ metadata }) => !metadata.deletionTimestamp);
  t.equal(pods.length, 2);
  for (const pod of pods) {
    t.match(pod.spec.containers[0], {
      resources: { limits: { cpu: '200m', memory: '96Mi' }, requests: { cpu: '100m', memory: '48Mi' } },
      readinessProbe: { httpGet: { path: '/healthz' } },
    });
  }
  // A pod may have another port than its app (decision 0009).
  const [deployment] = await listed<{ spec: { template: Pod } }>(namespace, 'deployments');
  t.match(deployment?.spec.template.spec.containers[0]?.ports, [{ containerPort: 9090 }]);
  t.equal((await platform.json<unknown[]>(['app', 'history', 'api', ...flags])).length, 1);
});

t.test('a single-pod volume moves to the new pod, and is kept while the app mounts it', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const create = ['app', 'create', 'api', '--image', hello('v1'), '--volume', 'data:/data', ...flags];
  const missing = await platform.svc(create);
  t.equal(missing.code, 2);
  t.match(missing.stderr, /no volume "data".*svc volume create/);
  await platform.ok(['volume', 'create', 'data', '--size', '64Mi', ...flags]);
  await platform.ok(create);
  const scaled = await platform.svc(['app', 'update', 'api', '--replicas', '2', ...flags]);
  t.equal(scaled.code, 2);
  t.match(scaled.stderr, /"data" is ReadWriteOnce.*at most 1 replica/);
  await platform.ok(['app', 'update', 'api', '--image', hello('v2'), ...flags]);
  const [deployment] = await listed<{ spec: { strategy: object } }>(namespace, 'deployments');
  t.match(deployment?.spec.strategy, { type: 'Recreate' });
  const mounted = await eventually(
    () => platform.json<{ status: string; mountedBy: unknown[] }>(['volume', 'show', 'data', ...flags]),
    ({ status }) => status === 'ready',
  );
  t.match(mounted.mountedBy, [{ kind: 'App', name: 'api' }]);
  const refused = await platform.svc(['volume', 'delete', 'data', '--yes', ...flags]);
  t.match(refused.stderr, /mounted by the app "api"/);
  await platform.ok(['app', 'update', 'api', '--no-volumes', '--replicas', '2', ...flags]);
  // The previous pod stays for a moment.
  await eventually(
    () => platform.json<{ mountedBy: unknown[] }>(['volume', 'show', 'data', ...flags]),
    ({ mountedBy }) => mountedBy.length === 0,
  );
  await platform.ok(['volume', 'delete', 'data', '--yes', ...flags]);
  t.match(await platform.json(['app', 'show', 'api', ...flags]), { readyReplicas: 2, volumes: [] });
});
