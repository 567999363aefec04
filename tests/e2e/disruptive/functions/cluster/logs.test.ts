import t from 'tap';
import type { PlatformStatus } from '../../../../../runtime/contracts/api/platform.ts';
import { node } from '../../../../../infra/testcluster/settings.ts';
import { codeFile } from '../../../../support/code-file.ts';
import { drainPlatform } from '../../../../support/drained-platform.ts';
import { storedLogs } from '../../../../support/log-store-text.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../../../../support/platform.ts';
import { installationSecrets, secretsIn } from '../../../../support/secret-hunt.ts';

const platform = await runningPlatform();
const code = `
export async function handler(event) {
  console.log('line ' + event.n + ' ' + 'x'.repeat(event.length ?? 0) + '.');
  return { ok: true };
}`;

t.teardown(() => platform.ok(['platform', 'disable', 'log-store', '--delete-data', '--yes']));

async function component(name: string) {
  const { stdout } = await platform.svc(['platform', 'status', '-o', 'json']);
  return (JSON.parse(stdout) as PlatformStatus).components.find((each) => each.name === name);
}

async function create(flags: readonly string[]) {
  const name = uniqueName('hello');
  const file = codeFile(t, 'hello.js', code);
  await platform.ok([
    ...['function', 'create', name, '--runtime', 'node', '--code-file', file, '--idle-timeout', '5s'],
    ...flags,
  ]);
  const { url } = await platform.json<{ url: string }>(['function', 'show', name, ...flags]);
  return {
    name,
    call: async (body: object) => {
      const headers = { 'content-type': 'application/json' };
      return (await platform.request(url, { method: 'POST', headers, body: JSON.stringify(body) })).status;
    },
    zero: () =>
      eventually(
        () => platform.json<{ replicas: number }>(['function', 'show', name, ...flags]),
        ({ replicas }) => replicas === 0,
      ),
    lines: async (...more: string[]) => {
      const stdout = await platform.ok(['function', 'logs', name, ...more, ...flags]);
      return stdout.match(/line \d+ x*\./g) ?? [];
    },
  };
}

t.test('a log store that is off is not reported as one that fails', async (t) => {
  t.match(await component('log-store'), { status: 'disabled' });
  const { flags } = await testProject(t, platform);
  const hello = await create(flags);
  t.equal(await hello.call({ n: 1 }), 200);
  const { stdout, stderr } = await platform.svc(['function', 'logs', hello.name, ...flags]);
  t.match(stdout, /line 1/);
  t.notMatch(stderr, /does not answer/);
});

t.test('the shipper of each node keeps what a function printed, also after its pods are gone', async (t) => {
  await platform.ok(['platform', 'enable', 'log-store', '--timeout', '4m']);
  for (const name of ['log-store', 'log-shipper']) {
    await eventually(
      () => component(name),
      (state) => state?.status === 'on',
    );
  }
  const { flags, namespace } = await testProject(t, platform);
  const drain = await drainPlatform(t, platform, node.address);
  const hello = await create(flags);
  for (const n of [1, 2, 3]) t.equal(await hello.call({ n }), 200);
  // The container runtime writes it in parts.
  t.equal(await hello.call({ n: 4, length: 40_000 }), 200);
  await hello.zero();
  const expected = ['line 1 .', 'line 2 .', 'line 3 .', `line 4 ${'x'.repeat(40_000)}.`];
  const lines = await eventually(
    () => hello.lines(),
    ({ length }) => length >= expected.length,
  );
  t.same(lines, expected);
  t.same(await hello.lines('--search', 'line 2'), ['line 2 .']);

  // Neither a new shipper nor a new store loses or doubles a line.
  for (const [namespace, app] of [
    ['svc-log-shipper', 'log-shipper'],
    ['monitoring', 'log-store'],
  ] as const) {
    const pods = ['-n', namespace, '-l', `app=${app}`];
    const uids = () => platform.kubectl('get', 'pods', ...pods, '-o', 'jsonpath={.items[*].metadata.uid}');
    const before = (await uids()).stdout.split(' ');
    const { code } = await platform.kubectl('delete', 'pod', ...pods, '--wait=false');
    t.equal(code, 0);
    await eventually(uids, (answer) => answer.code === 0 && !before.some((uid) => answer.stdout.includes(uid)));
  }
  t.equal(await hello.call({ n: 5 }), 200);
  await hello.zero();
  const all = await eventually(
    () => hello.lines(),
    ({ length }) => length > expected.length,
  );
  t.same(all, [...expected, 'line 5 .']);
  // The log drain had the lines from before the new store, and continues with it.
  for (const line of all) await drain.arrived(line, namespace);
  t.match(await drain.state(), { status: 'on', refusedLines: 0, deletedLines: 0, isAuthorized: true, isSecret: true });
});

t.test('no secret is in what the store has of the platform’s processes and of workloads', async (t) => {
  // The tests in last/ hunt in all other places, when the store is disabled again.
  const text = await eventually(
    async () => (await storedLogs(platform)) ?? '',
    (stored) => stored.includes('"pod":"console-api-'),
  );
  t.same(secretsIn(new Map([['the log store', text]]), await installationSecrets(platform)), []);
});

t.test('the shipper may only list pods', async (t) => {
  const can = async (verb: string, resource: string) => {
    const account = 'system:serviceaccount:svc-log-shipper:log-shipper';
    const { stdout } = await platform.kubectl('auth', 'can-i', verb, resource, '--as', account, '-A');
    return stdout.trim();
  };
  t.equal(await can('list', 'pods'), 'yes');
  for (const [verb, resource] of [
    ['get', 'pods'],
    ['watch', 'pods'],
    ['get', 'pods/log'],
    ['list', 'secrets'],
    ['list', 'configmaps'],
  ] as const) {
    t.equal(await can(verb, resource), 'no', `${verb} ${resource}`);
  }
});
