import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import t from 'tap';
import { WebSocket } from 'ws';
import type { PodExec } from '../../../infra/local/apiserver/pod-exec.ts';
import { podSessions, type PodSessions } from '../../support/pod-sessions.ts';

/** An app with a running pod. */
async function withApp(t: Parameters<typeof podSessions>[0], options?: Parameters<typeof podSessions>[1]) {
  const world = await podSessions(t, options);
  const id = await world.workload('App', 'api');
  await world.pod({ kind: 'App', name: 'api', id }, { name: 'api-1', container: 'app' });
  return { ...world, id };
}

const sha = (content: Buffer) => createHash('sha256').update(content).digest('hex');

t.test('a command gets its arguments unchanged, and its output and exit code come back', async (t) => {
  const { svc, entries } = await withApp(t);
  const script = 'echo "$GREETING $1"; echo oops >&2; exit 7';
  const ran = await svc(['app', 'exec', 'api', '--', 'sh', '-c', script, 'x', '$(id); --flag "\'']);
  t.equal(ran.stderr, 'oops\n');
  t.equal(ran.stdout.toString(), 'hello $(id); --flag "\'\n');
  t.equal(ran.code, 7);
  const [audit] = entries().filter(({ msg }) => msg === 'audit');
  t.match(audit, { action: 'app.exec', actor: 'admin@svc.local', app: 'api', pod: 'api-1', program: 'sh', tty: false });
  const end = () => entries().find(({ msg }) => msg === 'session ended');
  while (!end()) await new Promise((resolve) => setTimeout(resolve, 10));
  t.match(end(), { action: 'app.exec', by: 'command', exitCode: 7 });
  t.notMatch(JSON.stringify(entries()), /GREETING|--flag/, 'arguments may be secrets, and are not logged');
});

t.test('input and output are binary, and slow readers and writers lose nothing', async (t) => {
  const { svc } = await withApp(t);
  const content = randomBytes(8 * 1024 * 1024 + 3);
  const back = await svc(['app', 'exec', '-i', 'api', '--', 'cat'], { stdin: content });
  t.equal(back.code, 0, back.stderr);
  t.equal(sha(back.stdout), sha(content));
  const unread = await svc(['app', 'exec', 'api', '-i', '--', 'true'], { stdin: content });
  t.equal(unread.code, 0, 'a command that does not read its input');
  const none = await svc(['app', 'exec', 'api', '--', 'cat'], { stdin: content });
  t.same([none.code, none.stdout.length], [0, 0], 'without -i there is no input');
});

t.test('a terminal passes keys on, and follows the size of the local one', async (t) => {
  const { svc } = await withApp(t);
  const stdin = new PassThrough();
  const output: string[] = [];
  const seen = async (text: RegExp) => {
    while (!text.test(output.join(''))) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  const size = { columns: 100, rows: 40 };
  let resize = () => undefined as void;
  const running = svc(['app', 'exec', '-it', 'api', '--', 'bash', '--norc', '-i'], {
    stdin,
    size,
    onOutput: (text, stream) => {
      output.push(text);
      resize = () => {
        Object.assign(stream, { columns: 90, rows: 20 });
        stream.emit('resize');
      };
    },
  });
  stdin.write('stty size; tty\n');
  await seen(/40 100\r\n\/dev\/pts\/\d+/);
  resize();
  stdin.write('until [ "$(stty size)" = "20 90" ]; do sleep 0.05; done; echo re""sized\n');
  await seen(/resized/);
  stdin.write('sleep 600; echo status $?\n');
  await seen(/sleep 600/);
  // Keys are typed while the program runs.
  const typing = setInterval(() => stdin.write('\x03'), 200);
  await seen(/\^C/);
  clearInterval(typing);
  // The shell discards what it has of a line when the last of several keys interrupts it.
  const asking = setInterval(() => stdin.write('echo rea""dy\n'), 200);
  await seen(/ready/);
  clearInterval(asking);
  stdin.write('exit 5\n');
  t.equal((await running).code, 5);
});

t.test('the pod is one of the workload, the newest ready one by default', async (t) => {
  const { svc, id, ...world } = await withApp(t, {
    exec: async ({ metadata }, { container }, { stdout }) => {
      stdout?.write(`${metadata.namespace}/${metadata.name}/${container}`);
      return 0;
    },
  });
  const owner = { kind: 'App', name: 'api', id } as const;
  await world.pod(owner, { name: 'api-2', container: 'app', ready: false });
  const named = async (...args: string[]) => (await svc(['app', 'exec', 'api', ...args, '--', 'x'])).stdout.toString();
  t.equal(await named(), 'shop-prod/api-1/app');
  t.equal(await named('--pod', 'api-2'), 'shop-prod/api-2/app');
  const other = await svc(['app', 'exec', 'api', '--pod', 'web-1', '--', 'x']);
  t.equal(other.code, 1);
  t.match(other.stderr, /no running pod of this name. It has api-1, api-2. \(not_found\)/);
  await world.pod(owner, { name: 'api-0', container: 'app', role: 'run' });
  t.equal(await named(), 'shop-prod/api-1/app', 'not the pod of a one-off run');
  t.equal(await named('--pod', 'api-0'), 'shop-prod/api-0/app');
  for (const [kind, container] of [
    ['Function', 'function'],
    ['Job', 'job'],
  ] as const) {
    const name = `my-${container}`;
    const workload = await world.workload(kind, name);
    const idle = await svc([kind.toLowerCase(), 'exec', name, '--', 'x']);
    t.match(idle.stderr, new RegExp(`No pod of the ${kind.toLowerCase()} "${name}" runs now`));
    await world.pod(
      { kind, name, id: workload },
      { name: `${name}-1`, container, role: kind === 'Job' ? 'run' : 'serve' },
    );
    const ran = await svc([kind.toLowerCase(), 'exec', name, '--', 'x']);
    t.equal(ran.stdout.toString(), `shop-prod/${name}-1/${container}`);
  }
});

t.test('wrong command lines say what is missing', async (t) => {
  const { svc } = await withApp(t);
  for (const [args, message] of [
    [['api'], /The command is missing.*usage: svc app exec <app> -- <command>\.\.\./s],
    [['api', '--'], /The command is missing/],
    [['api', 'ls', '--', 'x'], /Unexpected argument "ls"/],
    [['--', 'x'], /<app> is missing/],
    [['-ix', 'api', '--', 'x'], /Unknown option -ix/],
  ] as const) {
    const ran = await svc(['app', 'exec', ...args]);
    t.equal(ran.code, 2, args.join(' '));
    t.match(ran.stderr, message);
  }
  t.match(
    (await svc(['app', 'exec', '--help'])).stdout.toString(),
    /svc app exec <app> \[options\] -- <command>\.\.\./,
  );
  const missing = await svc(['app', 'exec', 'api', '--', '/no/such/program']);
  t.equal(missing.code, 1);
  t.match(missing.stderr, /The command could not run: Cannot start "\/no\/such\/program": no such file or directory/);
});

t.test('a session ends when its client leaves, and its program with it', async (t) => {
  const folder = t.testdir();
  const { api } = await withApp(t);
  const query = new URLSearchParams([
    ['command', 'sh'],
    ['command', '-c'],
    ['command', `touch ${join(folder, 'begun')}; trap '' HUP; sleep 1; touch ${join(folder, 'survived')}`],
  ]);
  const socket = open(api, `/projects/shop/apps/api/exec?${query.toString()}`);
  await once(socket, 'open');
  while (!existsSync(join(folder, 'begun'))) await new Promise((resolve) => setTimeout(resolve, 10));
  socket.terminate();
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  t.notOk(existsSync(join(folder, 'survived')));
});

t.test('a command whose audit entry cannot be stored is refused, and its connection is closed', async (t) => {
  const closed = Promise.withResolvers<void>();
  const exec: PodExec = async (_pod, _command, _streams, signal) => {
    if (!signal.aborted) await once(signal, 'abort');
    closed.resolve();
    return 0;
  };
  const recordAudit = () => Promise.reject(new Error('no connection'));
  const { svc } = await withApp(t, { exec, recordAudit });
  const refused = await svc(['app', 'exec', 'api', '--', 'sleep', '1000']);
  t.match(refused, { code: 1, stderr: /cannot be recorded in the audit log.*\(unavailable\)/ });
  await closed.promise;
});

t.test('a silent session is closed after the idle limit', async (t) => {
  const { svc, entries } = await withApp(t, { idleMs: 200 });
  const ran = await svc(['app', 'exec', 'api', '--', 'sleep', '600']);
  t.equal(ran.code, 255);
  t.match(ran.stderr, /^error: the session ended: Nothing was sent for 0 minutes\./);
  t.match(
    entries().find(({ msg }) => msg === 'session ended'),
    { by: 'idle' },
  );
});

t.test('a request without a WebSocket gets 426, and a user without a token 401', async (t) => {
  const { api } = await withApp(t);
  const path = '/api/v1/projects/shop/apps/api/exec?command=ls';
  t.match(await api.call('GET', path), { status: 426, body: { code: 'upgrade_required' } });
  t.match(await api.call('GET', path, { headers: { authorization: '' } }), { status: 401 });
  const socket = new WebSocket(api.url.replace('http', 'ws') + path, ['other'], {
    headers: { authorization: 'Bearer good' },
  });
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode: number }];
  t.equal(response.statusCode, 400);
  socket.on('error', () => undefined).terminate();
});

function open(api: PodSessions['api'], path: string): WebSocket {
  return new WebSocket(`${api.url.replace('http', 'ws')}/api/v1${path}`, ['v5.channel.k8s.io'], {
    headers: { authorization: 'Bearer good' },
  });
}
