import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { stopRun } from '../../../runtime/api/run-requests.ts';
import type { PodExec } from '../../../infra/local/apiserver/pod-exec.ts';
import { execute } from '../../../infra/local/node/process-group.ts';
import { execProtocol } from '../../../runtime/contracts/exec-channels.ts';
import type { App, AppRun } from '../../../runtime/contracts/resources/app.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { sessionsOf } from '../../../runtime/workloads/run-sessions.ts';
import { podSessions } from '../../support/pod-sessions.ts';
import { startRunPods } from '../../support/run-pods.ts';

type Report = Parameters<typeof startRunPods>[3];

/** A deployed app whose runs get pods. */
async function withApp(t: Test, { report, ...options }: Parameters<typeof podSessions>[1] & { report?: Report } = {}) {
  const world = await podSessions(t, options);
  const id = await world.workload('App', 'api');
  const runs = await startRunPods(t, world, { id, name: 'api' }, report);
  /** Resolves when each requested run was stopped, and no pod is left. */
  const whenGone = async () => {
    while (runs.stops.length < runs.requests.length || (await runs.pods()).length > 0) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    t.same(
      runs.stops,
      runs.requests.map(({ id }) => id),
    );
    const app = await world.kube.get<App>(kinds.App, 'api', 'shop-prod');
    t.notOk(app?.spec.runRequests ?? app?.spec.runStops);
    t.same(app && sessionsOf(app), [], 'no session is open');
  };
  return { ...world, ...runs, whenGone };
}

/** The report of a run whose pod does not start yet. */
const pending = (name: string): AppRun => ({
  name,
  trigger: 'manual',
  state: 'pending',
  createdAt: '2026-01-01T00:00:00Z',
  command: [],
});

const sha = (content: Buffer) => createHash('sha256').update(content).digest('hex');

t.test('a command runs in a pod of its own, which is deleted when the command has ended', async (t) => {
  const { svc, requests, entries, whenGone } = await withApp(t);
  const script = 'echo "$GREETING $1"; cat; echo oops >&2; exit 7';
  const command = ['sh', '-c', script, 'x', '--token=hush'];
  const content = randomBytes(2 * 1024 * 1024 + 3);
  const ran = await svc(['app', 'run', '-i', 'api', '--', ...command], { stdin: content });
  t.equal(ran.code, 7);
  t.equal(ran.stderr, 'oops\n');
  t.equal(sha(ran.stdout), sha(Buffer.concat([Buffer.from('hello --token=hush\n'), content])), 'nothing is lost');
  // Viewers read the command of a run, and arguments may be secrets.
  t.match(requests, [{ id: /^[0-9a-f]{10}$/, by: 'admin@svc.local', command: ['sh'], session: true }]);
  t.equal(requests[0]?.command.length, 1);
  await whenGone();
  const run = `api-${requests[0]?.id}`;
  const [audit] = entries().filter(({ msg }) => msg === 'audit');
  t.match(audit, { action: 'app.run', actor: 'admin@svc.local', app: 'api', run, program: 'sh', tty: false });
  const end = entries().find(({ msg }) => msg === 'session ended');
  t.match(end, { action: 'app.run', run, program: 'sh', by: 'command', exitCode: 7 });
  t.notMatch(JSON.stringify(entries()), /hush/, 'arguments may be secrets, and are not logged');
});

t.test('a terminal gets keys and its size, also those of the time before the pod runs', async (t) => {
  const { svc, whenGone } = await withApp(t);
  const stdin = new PassThrough();
  const running = svc(['app', 'run', '-it', 'api', '--', 'bash', '--norc', '-i'], {
    stdin,
    size: { columns: 100, rows: 40 },
  });
  stdin.write('until [ "$(stty size)" = "40 100" ]; do sleep 0.05; done; tty && exit 5\n');
  const { code, stdout, stderr } = await running;
  t.equal(code, 5);
  t.match(stdout.toString(), /\/dev\/pts\/\d+/);
  t.equal(stderr, 'Starting a pod; it is deleted when the command ends.\n');
  await whenGone();
});

t.test('the pod is deleted when its client leaves, before or after its start', async (t) => {
  const folder = t.testdir();
  let isSlow = true;
  const { kube, api, requests, whenGone, pods, entries } = await withApp(t, {
    report: (run) => (isSlow ? pending(run) : undefined),
  });
  const query = new URLSearchParams([
    ['command', 'sh'],
    ['command', '-c'],
    ['command', `touch ${join(folder, 'begun')}; exec sleep 600`],
  ]);
  const open = () => {
    const url = `${api.url.replace('http', 'ws')}/api/v1/projects/shop/apps/api/run-session?${query.toString()}`;
    const headers = { authorization: 'Bearer good' };
    return new WebSocket(url, [execProtocol], { headers }).on('error', () => undefined);
  };
  const until = async (holds: () => boolean) => {
    while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  const ends = () => entries().filter(({ msg }) => msg === 'session ended');
  const early = open();
  await until(() => requests.length === 1);
  t.same(await pods(), []);
  const app = await kube.get<App>(kinds.App, 'api', 'shop-prod');
  t.match(app && sessionsOf(app), [{ id: requests[0]?.id, renewedAt: Number }], 'the app names the open session');
  early.terminate();
  await until(() => ends().length === 1);
  t.match(ends(), [{ by: 'client' }]);
  await whenGone();

  isSlow = false;
  const late = open();
  await until(() => existsSync(join(folder, 'begun')));
  t.equal((await pods()).length, 1);
  late.terminate();
  await until(() => ends().length === 2);
  await whenGone();
});

t.test('a session is told that its run was stopped, before and after the start of its command', async (t) => {
  const folder = t.testdir();
  let isSlow = false;
  // The node kills what runs in a pod that is deleted.
  const killed = new AbortController();
  const exec: PodExec = (_pod, { command }, streams, signal) => {
    const env = { PATH: process.env['PATH'] ?? '' };
    const end = AbortSignal.any([signal, killed.signal]);
    return execute({ command, cwd: '/tmp', env }, end, streams);
  };
  const { kube, svc, requests, stops, entries, pods } = await withApp(t, {
    exec,
    report: (run) => (isSlow ? pending(run) : undefined),
  });
  const until = async (holds: () => boolean) => {
    while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  /** As the route that stops runs does. */
  const stop = (id = '') =>
    stopRun(
      kube,
      async () => {
        const app = await kube.get<App>(kinds.App, 'api', 'shop-prod');
        if (!app) throw new Error('no app');
        return app;
      },
      id,
    );
  const script = `touch ${join(folder, 'begun')}; exec sleep 600`;
  const running = svc(['app', 'run', '-i', 'api', '--', 'sh', '-c', script], { stdin: new PassThrough() });
  await until(() => existsSync(join(folder, 'begun')));
  await stop(requests[0]?.id);
  await until(() => stops.length === 1);
  killed.abort();
  const ran = await running;
  t.equal(ran.stderr, 'error: the session ended: The run was stopped.\n');
  t.not(ran.code, 0);
  t.match(
    entries().filter(({ msg }) => msg === 'session ended'),
    [{ by: 'stopped' }],
  );

  isSlow = true;
  const waiting = svc(['app', 'run', '-i', 'api', '--', 'cat'], { stdin: new PassThrough() });
  await until(() => requests.length === 2);
  await stop(requests[1]?.id);
  t.match(await waiting, { code: 1, stderr: /The command could not run: The run was stopped\./ });
  await until(() => entries().filter(({ msg }) => msg === 'session ended').length === 2);
  while ((await pods()).length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
});

t.test('a command that a signal ended was not stopped', async (t) => {
  const { svc, entries } = await withApp(t);
  t.match(await svc(['app', 'run', '-i', 'api', '--', 'sh', '-c', 'kill -9 $$']), { code: 137, stderr: '' });
  t.match(
    entries().find(({ msg }) => msg === 'session ended'),
    { by: 'command', exitCode: 137 },
  );
});

t.test('a client that sends too much before the command has started is refused', async (t) => {
  const { api, requests, whenGone } = await withApp(t, { report: pending });
  const url = `${api.url.replace('http', 'ws')}/api/v1/projects/shop/apps/api/run-session?command=cat&stdin=true`;
  const refuse = async (length: number, count: number) => {
    const before = requests.length;
    const socket = new WebSocket(url, [execProtocol], { headers: { authorization: 'Bearer good' } });
    t.teardown(() => socket.terminate());
    while (requests.length === before) await new Promise((resolve) => setTimeout(resolve, 10));
    for (let sent = 0; sent < count; sent++) socket.send(Buffer.alloc(length));
    const [code, reason] = (await once(socket, 'close')) as [number, Buffer];
    t.same([code, reason.toString()], [1008, 'Too much input before the command has started.']);
  };
  await refuse(100 * 1024, 3);
  await refuse(1, 600);
  await whenGone();
});

t.test('a pod that does not start is reported with its reason', async (t) => {
  const failed =
    (message: string) =>
    (name: string): AppRun => ({
      name,
      trigger: 'manual',
      state: 'failed',
      createdAt: '2026-01-01T00:00:00Z',
      command: [],
      message,
    });
  const crash = await withApp(t, { report: failed('The program exceeded its memory limit.') });
  t.match(await crash.svc(['app', 'run', '-i', 'api', '--', 'ls']), {
    code: 1,
    stderr: /The command could not run: The pod ended before .*exceeded its memory limit\. \(exec_failed\)/,
  });
  await crash.whenGone();
  const bare = await withApp(t, { report: failed('exec: "sleep": executable file not found in $PATH') });
  t.match(await bare.svc(['app', 'run', '-i', 'api', '--', 'ls']), {
    code: 1,
    stderr: /The image needs the program "sleep" for -i and -t/,
  });
});

t.test('wrong command lines and requests say what is missing, and start nothing', async (t) => {
  const world = await withApp(t);
  for (const [args, message] of [
    [['-i', 'api'], /The command is missing/],
    [['-itd', 'api', '--', 'sh'], /-d does not support -i and -t/],
    [['-it', 'api', '-o', 'json', '--', 'sh'], /-o, --json and -q do not support -i and -t/],
  ] as const) {
    const ran = await world.svc(['app', 'run', ...args]);
    t.equal(ran.code, 2, args.join(' '));
    t.match(ran.stderr, message);
  }
  const long = await world.svc(['app', 'run', '-i', 'api', '--', 'echo', 'x'.repeat(5_000)]);
  t.match(long, { code: 2, stderr: /5004 bytes; the limit is 4096/ });
  await world.workload('App', 'new');
  t.match(await world.svc(['app', 'run', '-it', 'new', '--', 'sh']), { code: 1, stderr: /no release yet.*not_ready/ });
  t.same(world.requests, []);
});
