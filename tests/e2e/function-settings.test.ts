import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { codeFile } from '../support/code-file.ts';
import { startLoad } from '../support/load.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../support/platform.ts';

const platform = await runningPlatform();
const code = `
import { readFileSync, writeFileSync } from 'node:fs';
export function handler(event, context) {
  const { GREETING, TOKEN, SVC_TRIGGER } = process.env;
  const file = process.env.FILE;
  if (file !== undefined && event?.write) writeFileSync(file, event.write);
  if (context.trigger) console.log('ran by', SVC_TRIGGER, 'with', GREETING, TOKEN?.length, readFileSync(file, 'utf8'));
  return { body: { greeting: GREETING, token: TOKEN ?? null } };
}`;
const [one, two] = ['correct-horse-battery', 'staple-and-a-half'];

interface Shown {
  url: string;
  status: string;
  pendingRestart: boolean;
}

async function listed(namespace: string, what: string): Promise<{ metadata: { name: string } }[]> {
  const { stdout } = await platform.kubectl('-n', namespace, 'get', what, '-o', 'json');
  return (JSON.parse(stdout) as { items: { metadata: { name: string } }[] }).items;
}

const environments = async (namespace: string, name: string) =>
  (await listed(namespace, 'secrets')).filter(({ metadata }) => metadata.name.startsWith(`function-${name}-env-`));

t.test('pods of a function keep the variables, secrets and limits of their start', { timeout: 300_000 }, async (t) => {
  const { project, namespace, flags } = await testProject(t, platform);
  const name = uniqueName('settings');
  const svc = (...args: string[]) => platform.ok(['function', ...args, ...flags]);
  const settings = ['--env', 'GREETING=${WORD}, $$', '--env', 'WORD=Hello', '--memory', '128Mi', '--cpu', '500m'];
  await svc('create', name, '--code-file', codeFile(t, 'settings.mjs', code), ...settings);
  const show = () => platform.json<Shown>(['function', 'show', name, ...flags]);
  const { url } = await show();
  const readSettings = async () => {
    const answer = await platform.request(url);
    return answer.status === 200 ? answer.json() : answer.status;
  };
  const says = (greeting: string, token: string | null) =>
    eventually(readSettings, (now) => isDeepStrictEqual(now, { greeting, token }));
  await says('Hello, $', null);
  const [pod] = (await listed(namespace, 'pods')) as unknown as { spec: { containers: object[] } }[];
  t.match(pod?.spec.containers[0], {
    resources: { limits: { cpu: '500m', memory: '128Mi' }, requests: { cpu: '250m', memory: '64Mi' } },
  });

  const setToken = (value: string) =>
    platform.ok(['function', 'secret', 'set', name, 'TOKEN', '--value-stdin', ...flags], value);
  await eventually(show, ({ status }) => status === 'running');
  await setToken(one);
  await svc('env', 'set', name, 'WORD=Good ${TOKEN}');
  t.equal((await show()).pendingRestart, true);
  t.same(await readSettings(), { greeting: 'Hello, $', token: null }, 'running pods keep their environment');

  const failuresDuring = async (work: () => Promise<unknown>) => {
    const load = startLoad(platform, url);
    await work().catch(async (error: unknown) => {
      await load.stop();
      throw error;
    });
    return (await load.stop()).failures;
  };
  const whileRestarting = await failuresDuring(async () => {
    await svc('restart', name);
    t.equal((await show()).pendingRestart, false);
    await says(`Good ${one}, $`, one);
  });
  t.same(whileRestarting, [], 'no request was lost');

  await svc('update', name, '--memory', '192Mi');
  t.equal((await show()).pendingRestart, true, 'limits wait for the next scale-up');
  const whileReplaced = await failuresDuring(async () => {
    await svc('update', name, '--min-replicas', '2');
    await eventually(show, ({ pendingRestart }) => !pendingRestart);
  });
  t.same(whileReplaced, [], 'no request was lost when pods with other limits took over');
  const { stdout } = await platform.kubectl('-n', namespace, 'get', 'deployment', name, '-o', 'json');
  t.match(JSON.parse(stdout), {
    spec: { replicas: 2, template: { spec: { containers: [{ resources: { limits: { memory: '192Mi' } } }] } } },
  });

  await setToken(two);
  await svc('secret', 'restore', name, 'TOKEN', '--restart');
  await says(`Good ${one}, $`, one);
  t.equal(await svc('secret', 'reveal', name, 'TOKEN'), one);
  await eventually(
    () => environments(namespace, name),
    (items) => items.length === 1,
  );
  const refusals: [string[], number, RegExp][] = [
    [['env', 'set', name, 'WORD=${GREETING}'], 2, /GREETING → WORD → GREETING.*invalid_value/],
    [['env', 'set', name, 'X=${SVC_TRIGGER}'], 2, /"SVC_TRIGGER", which differs between pods/],
    [['secret', 'delete', name, 'TOKEN', '--yes'], 1, /WORD refers to/],
  ];
  for (const [args, code, expected] of refusals) {
    const refused = await platform.svc(['function', ...args, ...flags]);
    t.equal(refused.code, code, args.join(' '));
    t.match(refused.stderr, expected);
  }
  const values = [
    ...(await listed(namespace, 'functions.platform.svc,deployments,replicasets,pods,events')),
    await platform.json(['function', 'secret', 'list', name, ...flags]),
    await platform.json(['function', 'env', 'list', name, ...flags]),
  ];
  t.notMatch(JSON.stringify(values), new RegExp(`${one}|${two}`));
  for (const process of ['console-api', 'svc-controllers']) {
    // A line reaches the log a moment after it was written.
    const pattern =
      process === 'console-api' ? new RegExp(`^(?=.*"action":"secret\\.reveal").*"project":"${project}"`, 'm') : /^/;
    const logs = await eventually(
      () => platform.kubectl('-n', 'svc-system', 'logs', '-l', `app=${process}`, '--tail=-1', '--since=30m'),
      ({ stdout }) => pattern.test(stdout),
    );
    t.notMatch(logs.stdout, new RegExp(`${one}|${two}`), process);
  }
});

t.test('requests, scheduled runs and test runs have one volume and one environment', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const name = uniqueName('notes');
  await platform.ok(['volume', 'create', 'notes', '--size', '64Mi', ...flags]);
  const svc = (...args: string[]) => platform.ok(['function', ...args, ...flags]);
  const settings = ['--volume', 'notes:/notes', '--env', 'GREETING=Hi', '--env', 'FILE=/notes/first'];
  await svc('create', name, '--code-file', codeFile(t, 'notes.mjs', code), ...settings);
  const { url } = await platform.json<Shown>(['function', 'show', name, ...flags]);
  const write = () =>
    platform.request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"write":"kept"}',
    });
  const { status } = await eventually(write, (answer) => answer.status !== 404);
  t.equal(status, 200);
  await platform.ok(['function', 'secret', 'set', name, 'TOKEN', '--value-stdin', ...flags], one);
  await svc('update', name, '--trigger', 'cron', '--schedule', '0 0 1 1 *');
  const ended = await svc('test', name);
  const [run = ''] = new RegExp(`${name}-test-[0-9a-f]{10}`).exec(ended) ?? [];
  t.match(await svc('logs', name, '--run', run), `ran by test with Hi ${one.length} kept`);
  const named = await Promise.all(
    ['cronjobs', 'jobs.batch'].map(async (kind) => {
      const [, secret] = /"secretRef":\{"name":"([^"]+)"/.exec(JSON.stringify(await listed(namespace, kind))) ?? [];
      return secret;
    }),
  );
  t.match(named[0], new RegExp(`^function-${name}-env-[0-9a-f]{16}$`));
  t.equal(named[1], named[0]);
  const used = await platform.svc(['volume', 'delete', 'notes', '--yes', ...flags]);
  t.match(used.stderr, new RegExp(`mounted by the function "${name}"`));
  await svc('delete', name, '--yes');
  await eventually(
    () => listed(namespace, 'secrets'),
    (items) => !items.some(({ metadata }) => metadata.name.startsWith('function-')),
  );
});
