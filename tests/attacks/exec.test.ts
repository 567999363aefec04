import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { createAuthenticate } from '../../functions/sessions/authenticate.ts';
import type { PodExec } from '../../infra/local/apiserver/pod-exec.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { newId } from '../../runtime/domain/ids.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { execProtocol } from '../../runtime/contracts/exec-channels.ts';
import { testSession } from '../support/api.ts';
import { signedIn } from '../support/people.ts';
import { podSessions } from '../support/pod-sessions.ts';
import { startRunPods } from '../support/run-pods.ts';
import { testDatabase } from '../support/postgres.ts';

type Refusal = { status: number; code: string };
type Attempt = (path: string, headers?: Record<string, string>) => Promise<WebSocket | Refusal>;

/** Two projects, each with an app and a pod of it, and attempts to open sessions. */
async function withApps(t: Test, options?: Parameters<typeof podSessions>[1]) {
  const world = await podSessions(t, options);
  for (const [project, name] of [
    ['shop', 'api'],
    ['blog', 'web'],
  ] as const) {
    const id = await world.workload('App', name, project);
    await world.pod({ kind: 'App', name, id, project }, { name: `${name}-1`, container: 'app' });
  }
  const attempt: Attempt = async (path, headers = { authorization: 'Bearer good' }) => {
    const socket = new WebSocket(`${world.api.url.replace('http', 'ws')}/api/v1${path}`, [execProtocol], { headers });
    t.teardown(() => socket.on('error', () => undefined).terminate());
    socket.on('error', () => undefined);
    return Promise.race([
      once(socket, 'open').then(() => socket),
      once(socket, 'unexpected-response').then(async ([, response]) => {
        const { statusCode: status = 0 } = response as IncomingMessage;
        const { code } = (await json(response as IncomingMessage)) as { code: string };
        return { status, code };
      }),
    ]);
  };
  return { ...world, attempt };
}

t.test('a name opens no pod of another project, workload or kind', async (t) => {
  const { attempt, ...world } = await withApps(t, { exec: async () => 0 });
  const id = await world.workload('Service', 'orders');
  await world.pod({ kind: 'Service', name: 'orders', id }, { name: 'orders-0', container: 'app' });
  // A pod that a tenant makes with kubectl, with another workload's name, has not its id.
  await world.pod({ kind: 'App', name: 'api', id: 'other' }, { name: 'fake-1', container: 'app' });
  const pods = ['web-1', 'orders-0', 'fake-1', '../blog-prod/pods/web-1', 'api-1/exec?', 'api-1%2F..%2Fweb-1', ''];
  for (const pod of pods) {
    const query = new URLSearchParams({ command: 'ls', pod });
    t.same(await attempt(`/projects/shop/apps/api/exec?${query.toString()}`), { status: 404, code: 'not_found' }, pod);
  }
  const names = ['web', 'orders', '..', '%2e%2e', '..%2f..%2fblog-prod%2fpods%2fweb-1', 'api%00', 'api%2Fexec'];
  for (const name of names) {
    const refused = await attempt(`/projects/shop/apps/${name}/exec?command=ls`);
    t.notOk(refused instanceof WebSocket, name);
    t.ok((refused as Refusal).status === 404 || (refused as Refusal).status === 400, name);
  }
  t.ok((await attempt('/projects/shop/apps/api/exec?command=ls&pod=api-1')) instanceof WebSocket);
});

t.test('another site cannot use the cookie of a signed-in browser', async (t) => {
  const { pool } = await testDatabase(t);
  const baseUrl = 'https://console.apps.test';
  const authenticate = createAuthenticate({ pool, clock: systemClock, baseUrl });
  const { attempt } = await withApps(t, { authenticate, baseUrl, exec: async () => 0 });
  const { headers } = await signedIn(pool, 'admin', { role: 'admin' });
  const token = headers.authorization.replace('Bearer ', '');
  const cookie = `__Host-svc_session=${token}`;
  const path = '/projects/shop/apps/api/exec?command=ls';
  const refused: Record<string, string>[] = [
    { cookie },
    { cookie, origin: 'https://evil.test' },
    { cookie, origin: 'https://api--shop-prod.apps.test', 'sec-fetch-site': 'same-site' },
    { cookie, origin: 'https://console.apps.test.evil.test' },
    { cookie, origin: 'null' },
    { cookie, origin: baseUrl, 'sec-fetch-site': 'cross-site' },
  ];
  for (const attack of refused) {
    t.same(
      await attempt(path, attack),
      { status: 403, code: 'cross_site' },
      JSON.stringify(attack).replace(token, '…'),
    );
  }
  t.ok((await attempt(path, { cookie, origin: baseUrl })) instanceof WebSocket, 'the console itself');
  t.ok((await attempt(path, { authorization: `Bearer ${token}`, origin: 'https://evil.test' })) instanceof WebSocket);
});

t.test('one user cannot take all sessions, and a closed one is free again', async (t) => {
  const { attempt, api } = await withApps(t, { socketLimits: { perUser: 2, total: 3 } });
  const path = '/projects/shop/apps/api/exec?command=sleep&command=600';
  const first = await attempt(path);
  t.ok(first instanceof WebSocket && (await attempt(path)) instanceof WebSocket);
  t.same(await attempt(path), { status: 429, code: 'too_many_requests' });
  t.equal((await api.call('GET', '/api/v1/openapi.json')).status, 200, 'other requests are not affected');
  (first as WebSocket).close();
  await once(first as WebSocket, 'close');
  // The server may learn of it a moment later.
  let next = await attempt(path);
  while (!(next instanceof WebSocket)) next = await attempt(path);
  // A session that is refused takes no place.
  t.same(await attempt('/projects/shop/apps/none/exec?command=ls'), { status: 429, code: 'too_many_requests' });
  next.terminate();
  for (let count = 0; count < 5; count++) {
    let answer = await attempt('/projects/shop/apps/none/exec?command=ls');
    while ((answer as Refusal).status === 429) answer = await attempt('/projects/shop/apps/none/exec?command=ls');
    t.same(answer, { status: 404, code: 'not_found' });
  }
});

t.test('a client that does not read stops the command instead of filling memory', async (t) => {
  let written = 0;
  const { attempt } = await withApps(t, {
    async exec(_pod, _options, { stdout }, signal) {
      const chunk = Buffer.alloc(32 * 1024);
      // The connection is closed while a chunk is being sent.
      stdout?.on('error', () => undefined);
      while (!signal.aborted && written < 512 * 1024 * 1024) {
        await new Promise((resolve) => stdout?.write(chunk, resolve));
        written += chunk.length;
      }
      return 0;
    },
  });
  const socket = await attempt('/projects/shop/apps/api/exec?command=yes');
  if (!(socket instanceof WebSocket)) throw new Error('refused');
  socket.pause();
  let last = -1;
  while (written !== last) {
    last = written;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  t.ok(written > 0 && written < 64 * 1024 * 1024, `${written} bytes are in buffers of sockets and relays`);
});

t.test('a client sends no messages of other channels, and none that are too large', async (t) => {
  const { attempt } = await withApps(t);
  for (const [message, code] of [
    [Buffer.from([3, 123, 125]), 1008],
    [Buffer.from([4, 123, 125]), 1008],
    [Buffer.from([77]), 1008],
    [Buffer.alloc(0), 1008],
    [Buffer.alloc(256 * 1024), 1009],
  ] as const) {
    const socket = await attempt('/projects/shop/apps/api/exec?command=cat&stdin=true');
    if (!(socket instanceof WebSocket)) throw new Error('refused');
    socket.send(message);
    const [closed] = (await once(socket, 'close')) as [number];
    t.equal(closed, code);
  }
});

t.test('a command is a list of words, which no shell reads', async (t) => {
  const seen: (readonly string[])[] = [];
  const { attempt, svc } = await withApps(t, {
    async exec(_pod, { command }) {
      seen.push(command);
      return 0;
    },
  });
  const words = ['echo', '$(touch /tmp/x)', '; rm -rf /', '`id`', '| sh', '&tty=true&command=id', '\'"\n', '--', ''];
  await svc(['app', 'exec', 'api', '--', ...words]);
  t.same(seen, [words]);
  for (const query of ['', '?command=', `?${'command=x&'.repeat(600)}`]) {
    const refused = (await attempt(`/projects/shop/apps/api/exec${query}`)) as Refusal;
    t.same(refused, { status: 400, code: 'invalid_request' }, query.slice(0, 30));
  }
});

t.test('a session ends when its user loses the role', async (t) => {
  let hasRole = true;
  const { attempt } = await withApps(t, {
    socketLimits: { checkMs: 100 },
    async authorize() {
      if (!hasRole) throw new Problem('forbidden', 'no');
      return { projectId: '019a0000-0000-7000-8000-000000000003', role: 'deployer' };
    },
  });
  const socket = await attempt('/projects/shop/apps/api/exec?command=sleep&command=600');
  if (!(socket instanceof WebSocket)) throw new Error('refused');
  hasRole = false;
  const [code, reason] = (await once(socket, 'close')) as [number, Buffer];
  t.same([code, reason.toString()], [1008, 'forbidden']);
});

/** Shorter than the 30 s after which `ws` itself terminates a client that does not answer a close. */
const ownTimeout = { timeout: 20_000 };

t.test('a session ends when its user loses the role, although its client ignores the close', ownTimeout, async (t) => {
  let hasRole = true;
  const started = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const { attempt } = await withApps(t, {
    socketLimits: { checkMs: 50, closeMs: 50 },
    async exec(_pod, _options, _streams, signal) {
      started.resolve();
      await once(signal, 'abort');
      ended.resolve();
      return 137;
    },
    async authorize() {
      if (!hasRole) throw new Problem('forbidden', 'no');
      return { projectId: '019a0000-0000-7000-8000-000000000003', role: 'deployer' };
    },
  });
  const socket = await attempt('/projects/shop/apps/api/exec?command=sleep&command=600');
  if (!(socket instanceof WebSocket)) throw new Error('refused');
  // It reads nothing any more, so it never answers.
  socket.pause();
  await started.promise;
  hasRole = false;
  await ended.promise;
  t.pass('the command has ended');
});

t.test('a session ends soon after the access token or session of its user', ownTimeout, async (t) => {
  let isValid = true;
  const { attempt } = await withApps(t, {
    async authenticate() {
      if (!isValid) throw new Problem('unauthenticated', 'The access token is not valid.');
      return testSession;
    },
  });
  const socket = await attempt('/projects/shop/apps/api/exec?command=sleep&command=600');
  if (!(socket instanceof WebSocket)) throw new Error('refused');
  isValid = false;
  const [code, reason] = (await once(socket, 'close')) as [number, Buffer];
  t.same([code, reason.toString()], [1008, 'unauthenticated']);
});

const until = async (holds: () => boolean) => {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10));
};

/** A session of an app whose client ignores the close of its WebSocket for the whole test. */
async function withDeafClient(t: Test, exec: PodExec, hasPod: boolean) {
  let hasRole = true;
  let refusals = 0;
  const { attempt, ...world } = await withApps(t, {
    socketLimits: { checkMs: 20, closeMs: 60_000 },
    exec,
    async authorize() {
      if (hasRole) return { projectId: '019a0000-0000-7000-8000-000000000003', role: 'deployer' };
      refusals += 1;
      throw new Problem('forbidden', 'no');
    },
  });
  const id = await world.workload('App', 'slow');
  const runs = await startRunPods(t, world, { id, name: 'slow' }, (name) =>
    hasPod ? undefined : { name, trigger: 'manual', state: 'pending', createdAt: '2026-01-01T00:00:00Z', command: [] },
  );
  return {
    ...world,
    runs,
    open: async () => {
      const socket = await attempt('/projects/shop/apps/slow/run-session?command=sh');
      if (!(socket instanceof WebSocket)) throw new Error('refused');
      socket.pause();
      return socket;
    },
    refuse: async () => {
      hasRole = false;
      // A refusal closes the WebSocket before anything else runs.
      await until(() => refusals >= 1);
    },
    startPod: async () => {
      const run = `slow-${runs.requests[0]?.id}`;
      await world.pod({ kind: 'App', name: 'slow', id }, { name: `${run}-x`, container: 'app', role: 'run', run });
    },
  };
}

t.test('a command does not start after its user has lost the role', ownTimeout, async (t) => {
  const commands: (readonly string[])[] = [];
  const exec: PodExec = async (_pod, { command }) => {
    commands.push(command);
    return 0;
  };
  const { runs, open, refuse, startPod } = await withDeafClient(t, exec, false);
  const socket = await open();
  await until(() => runs.requests.length === 1);
  await refuse();
  await startPod();
  await until(() => runs.stops.length === 1);
  t.same(commands, []);
  socket.terminate();
});

t.test('a command ends whose user loses the role while it starts', ownTimeout, async (t) => {
  const ended = Promise.withResolvers<string>();
  const exec: PodExec = async (_pod, _options, _streams, signal) => {
    if (!signal.aborted) await once(signal, 'abort');
    ended.resolve('it ends');
    return 137;
  };
  const reads = Promise.withResolvers<string>();
  const { kube, runs, open, refuse } = await withDeafClient(t, exec, true);
  const openExec = kube.openExec.bind(kube);
  kube.openExec = async (...request) => {
    const upstream = await openExec(...request);
    await refuse();
    const resume = upstream.resume.bind(upstream);
    upstream.resume = () => {
      reads.resolve('its output is read');
      resume();
    };
    return upstream;
  };
  const socket = await open();
  t.equal(await Promise.race([ended.promise, reads.promise]), 'it ends');
  await until(() => runs.stops.length === 1);
  socket.terminate();
});

t.test('a run of its own reaches no other project, and takes its pod with it when the rights end', async (t) => {
  let hasRole = true;
  const { attempt, ...world } = await withApps(t, {
    exec: async ({ metadata }, _options, { stdout }, signal) => {
      stdout?.write(`${metadata.namespace}/${metadata.name}`);
      await once(signal, 'abort');
      return 137;
    },
    socketLimits: { checkMs: 50 },
    async authorize(_session, project) {
      if (project !== 'shop') throw new Problem('not_found', 'no');
      if (!hasRole) throw new Problem('forbidden', 'no');
      return { projectId: '019a0000-0000-7000-8000-000000000003', role: 'deployer' };
    },
  });
  const app = await world.kube.get<App>(kinds.App, 'api', 'shop-prod');
  const id = app?.metadata.labels?.['platform.svc/id'] ?? '';
  const runs = await startRunPods(t, world, { id, name: 'api' }, (run) => {
    // A pod with the name of the run that belongs to no workload of this project, and one of another app.
    void world.pod({ kind: 'App', name: 'api', id: 'other' }, { name: `fake-${run}`, container: 'app', run });
    return undefined;
  });
  const path = (name: string, project = 'shop') => `/projects/${project}/apps/${name}/run-session?command=sh`;
  t.same(await attempt(path('web', 'blog')), { status: 404, code: 'not_found' });
  for (const name of ['web', '..', '%2e%2e', '..%2f..%2fblog-prod%2fapps%2fweb', 'api%00', 'api%2Frun-session']) {
    const refused = (await attempt(path(name))) as Refusal;
    t.ok(refused.status === 404 || refused.status === 400, name);
  }
  t.same(await attempt('/projects/shop/apps/api/run-session'), { status: 400, code: 'invalid_request' });
  t.same(runs.requests, [], 'what is refused leaves nothing');

  const socket = await attempt(path('api'));
  if (!(socket instanceof WebSocket)) throw new Error('refused');
  const messages: string[] = [];
  socket.on('message', (data: Buffer) => messages.push(data.subarray(1).toString()));
  while (!messages.includes(`shop-prod/api-${runs.requests[0]?.id}-x`)) await once(socket, 'message');
  hasRole = false;
  const [code, reason] = (await once(socket, 'close')) as [number, Buffer];
  t.same([code, reason.toString()], [1008, 'forbidden']);
  while (runs.stops.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  t.same(runs.stops, [runs.requests[0]?.id]);
});

t.test('sessions that begin and end at once do not fill the App', async (t) => {
  const { attempt, ...world } = await withApps(t);
  const ref = { apiVersion: 'platform.svc/v1', kind: 'App', namespace: 'shop-prod', name: 'api' };
  const release = { generation: 1, deploymentId: newId(), image: 'r/api:1' };
  await world.kube.mergePatch<App>(ref, { spec: { release } });
  // No controller is there to start or to stop a run.
  const refusals: string[] = [];
  for (let count = 0; count < 25 && refusals.length === 0; count++) {
    const socket = await attempt('/projects/shop/apps/api/run-session?command=sh');
    if (!(socket instanceof WebSocket)) throw new Error('refused');
    const written = async () => {
      const app = await world.kube.get<App>(kinds.App, 'api', 'shop-prod');
      return (app?.spec.runRequests ?? []).length > 0;
    };
    socket.on('message', (data: Buffer) => refusals.push(data.subarray(1).toString()));
    while (refusals.length === 0 && !(await written())) await new Promise((resolve) => setTimeout(resolve, 5));
    socket.terminate();
    await world.openRuns.drain();
  }
  t.match(refusals, [/20 runs waiting to start or to stop/]);
  const app = await world.kube.get<App>(kinds.App, 'api', 'shop-prod');
  t.same([app?.spec.runRequests?.length, app?.spec.runStops?.length], [undefined, 20]);
});
