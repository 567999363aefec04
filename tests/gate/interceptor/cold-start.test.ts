import { once } from 'node:events';
import type { Socket } from 'node:net';
import t from 'tap';
import { createWorld, helloPod, until } from './world.ts';

const json = (body: string) => JSON.parse(body) as { code: string; message: string; details: { fault: string } };

t.test('ten concurrent requests at two interceptors from zero cause one scale write, and all succeed', async (t) => {
  const world = createWorld(t);
  const [one, two] = await Promise.all([world.startInterceptor(), world.startInterceptor()]);
  world.scale.onWrite = () => {
    // Later requests find a warm pod.
    void until(() => one.activator.waiting() + two.activator.waiting() === 10).then(() =>
      world.startPod((request, response) => response.end(request.url)),
    );
  };
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, n) => world.ask((n % 2 ? one : two).port, { path: `/${n}` })),
  );
  t.same(
    answers.map(({ status, body }) => [status, body]),
    Array.from({ length: 10 }, (_, n) => [200, `/${n}`]),
  );
  t.same(world.scale.writes, [1]);
  for (const { headers } of answers) {
    t.equal(headers['x-svc-cold-start'], 'true');
    t.match(headers['server-timing'], /svc-address;dur=[\d.]+, svc-connect;dur=[\d.]+, svc-answer;dur=[\d.]+$/);
  }
  const warm = await world.ask(one.port);
  t.equal(warm.headers['x-svc-cold-start'], 'false');
  t.equal(warm.headers['server-timing'], undefined);
  t.equal(one.activator.waiting(), 0);
});

t.test('a body that waited arrives complete', async (t) => {
  const world = createWorld(t);
  const { port } = await world.startInterceptor();
  world.scale.onWrite = () => {
    void world.startPod((request, response) => request.pipe(response));
  };
  const body = 'x'.repeat(200_000);
  const answer = await world.ask(port, { method: 'POST', body });
  t.equal(answer.body === body, true);
});

t.test('a function above zero is never scaled: requests wait for its pods', async (t) => {
  const world = createWorld(t, { replicas: 3 });
  const { port, activator } = await world.startInterceptor();
  const answer = world.ask(port);
  await until(() => activator.waiting() === 1);
  await world.startPod((_, response) => response.end('late'));
  t.equal((await answer).body, 'late');
  t.same(world.scale.writes, []);
});

t.test('a request while the scaler goes to zero scales up again, and the terminating pod finishes', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port } = await world.startInterceptor();
  const held: (() => void)[] = [];
  const first = await world.startPod((_, response) => {
    response.write('begun ');
    held.push(() => response.end('and finished'));
  });
  const underWay = world.ask(port);
  await until(() => held.length === 1);
  await world.scale.replaceScale(await world.scale.getScale('shop-prod', 'hello'), 0);
  first.terminate();
  world.scale.onWrite = () => {
    void world.startPod((_, response) => response.end('second pod'));
  };
  t.equal((await world.ask(port)).body, 'second pod');
  t.same(world.scale.writes, [0, 1]);
  for (const finish of held) finish();
  t.equal((await underWay).body, 'begun and finished');
});

t.test('a pod that goes to zero while requests wait is scaled up by the next look', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port, activator } = await world.startInterceptor();
  const answer = world.ask(port);
  await until(() => activator.waiting() === 1);
  world.scale.onWrite = (replicas) => {
    if (replicas === 1) void world.startPod((_, response) => response.end('again'));
  };
  await world.scale.replaceScale(await world.scale.getScale('shop-prod', 'hello'), 0);
  t.equal((await answer).body, 'again');
  t.same(world.scale.writes, [0, 1]);
});

t.test('a hold times out, and the error says whether the function failed', async (t) => {
  const world = createWorld(t, { holdMs: 120 });
  const { port, activity } = await world.startInterceptor();
  const late = await world.ask(port);
  t.equal(late.status, 504);
  t.match(json(late.body), { code: 'cold_start_timeout', details: { fault: 'cold_start' } });
  t.match(late.headers, { 'content-type': 'application/json', 'x-request-id': /./ });
  world.scale.broken = true;
  const down = await world.ask(port);
  t.equal(down.status, 503);
  t.match(json(down.body), { code: 'platform_unavailable', details: { fault: 'platform' } });
  t.equal(activity.inflight(), 0);
});

t.test('the queue of a function has a maximum length', async (t) => {
  const world = createWorld(t, { queueMax: 2, replicas: 1 });
  const { port, activator } = await world.startInterceptor();
  const waiting = [world.ask(port), world.ask(port)];
  await until(() => activator.waiting() === 2);
  const refused = await world.ask(port);
  t.equal(refused.status, 503);
  t.equal(json(refused.body).code, 'cold_start_queue_full');
  t.match(refused.headers['retry-after'], /^\d+$/);
  await world.startPod((_, response) => response.end('ok'));
  t.same(
    (await Promise.all(waiting)).map(({ body }) => body),
    ['ok', 'ok'],
  );
});

t.test('a pod that crashes at its start ends the wait, without quoting its log', async (t) => {
  const world = createWorld(t);
  const { port, activator } = await world.startInterceptor();
  const pending = world.ask(port);
  await until(() => activator.waiting() === 1);
  const crashed = helloPod('crashing', 1, {
    containerStatuses: [
      {
        name: 'function',
        ready: false,
        restartCount: 2,
        state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } },
        lastState: { terminated: { exitCode: 1, message: 'password is hunter2' } },
      },
    ],
  });
  world.pods.put(crashed);
  const answer = await pending;
  t.equal(answer.status, 502);
  t.match(json(answer.body), { code: 'cold_start_failed', message: /exit code 1/, details: { fault: 'cold_start' } });
  t.notMatch(answer.body, 'hunter2');
  t.equal((await world.ask(port)).status, 502);
  await world.startPod((_, response) => response.end('repaired'));
  t.equal((await world.ask(port)).body, 'repaired');
});

t.test('dependencies that cannot be installed end the wait, and are named as the cause', async (t) => {
  const world = createWorld(t);
  const { port, activator } = await world.startInterceptor();
  const pending = world.ask(port);
  await until(() => activator.waiting() === 1);
  const waiting = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } };
  const installer = { name: 'dependencies', ready: false, restartCount: 1, state: waiting };
  const lastState = { terminated: { exitCode: 1, message: 'password is hunter2' } };
  world.pods.put(helloPod('installing', 1, { initContainerStatuses: [{ ...installer, lastState }] }));
  const answer = await pending;
  t.equal(answer.status, 502);
  t.match(json(answer.body), {
    code: 'cold_start_failed',
    message: 'The function does not start: its dependencies cannot be installed. Check its status.',
  });
  t.notMatch(answer.body, 'hunter2');
});

t.test('a client that disconnects while it waits leaves no state behind', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port, activator, activity, registry } = await world.startInterceptor();
  const request = world.open(port);
  request.on('error', () => undefined);
  request.end();
  await until(() => activator.waiting() === 1);
  request.destroy();
  await until(() => activity.inflight() === 0);
  t.equal(activator.waiting(), 0);
  t.match(await registry.metrics(), 'interceptor_requests_total{result="client_gone"} 1');
});

t.test('an upgrade waits for a pod too', async (t) => {
  const world = createWorld(t);
  const { port } = await world.startInterceptor();
  world.scale.onWrite = () => {
    void world.startPod(
      (_, response) => response.end(),
      (_, socket) => {
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello');
        socket.pipe(socket);
      },
    );
  };
  const request = world.open(port, { headers: { connection: 'Upgrade', upgrade: 'echo' } });
  request.end();
  const [response, socket, head] = (await once(request, 'upgrade')) as [
    { headers: Record<string, string> },
    Socket,
    Buffer,
  ];
  t.equal(response.headers['x-svc-cold-start'], 'true');
  t.equal((head.length > 0 ? head : ((await once(socket, 'data')) as [Buffer])[0]).toString(), 'hello');
  socket.write('ping');
  t.equal(((await once(socket, 'data')) as [Buffer])[0].toString(), 'ping');
  socket.destroy();
});
