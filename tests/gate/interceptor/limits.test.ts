import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import t from 'tap';
import { createWorld, helloFunction, until } from './world.ts';

const json = (body: string) => JSON.parse(body) as { code: string; details: { fault: string } };

/** A function with this spec, and pods that answer when the test says so. */
async function limitedWorld(
  test: Parameters<typeof createWorld>[0],
  spec: { concurrency?: number; requestTimeoutSeconds?: number },
  options: Parameters<typeof createWorld>[1] = {},
) {
  const world = createWorld(test, { replicas: 1, ...options });
  const object = helloFunction();
  world.functions.put({ ...object, spec: { ...object.spec, ...spec } });
  const held: { url: string; response: ServerResponse }[] = [];
  const startPod = () => world.startPod((request, response) => held.push({ url: request.url ?? '', response }));
  return { ...world, held, startPod, ...(await world.startInterceptor()) };
}

t.test('a pod gets a limited number of requests, and the others are first in, first out', async (t) => {
  const world = await limitedWorld(t, { concurrency: 2 });
  await world.startPod();
  const answers: Promise<{ status: number; body: string }>[] = [];
  for (let number = 0; number < 5; number++) {
    answers.push(world.ask(world.port, { path: `/${number}` }));
    await until(() => world.held.length + world.queue.waiting() === number + 1);
  }
  t.same(world.held.map(({ url }) => url).sort(), ['/0', '/1']);
  for (let number = 0; number < 5; number++) {
    await until(() => world.held.length > number);
    t.ok(world.held.length <= number + 2, 'never more than two');
    world.held[number]?.response.end('done');
    await Promise.race(answers);
  }
  t.same(
    world.held.slice(2).map(({ url }) => url),
    ['/2', '/3', '/4'],
  );
  t.same(
    (await Promise.all(answers)).map(({ status }) => status),
    [200, 200, 200, 200, 200],
  );
  t.equal(world.queue.waiting(), 0);
});

t.test('a burst at zero is spread over the new pods, each within its limit', async (t) => {
  const world = await limitedWorld(t, { concurrency: 3 }, { replicas: 0 });
  const pods: Promise<unknown>[] = [];
  world.scale.onWrite = () => pods.push(world.startPod());
  const answers = Array.from({ length: 8 }, (_, number) => world.ask(world.port, { path: `/${number}` }));
  await until(() => world.held.length === 3 && world.queue.waiting() === 5);
  pods.push(world.startPod());
  await until(() => world.held.length === 6 && world.queue.waiting() === 2);
  for (let number = 0; number < 8; number++) {
    await until(() => world.held.length > number);
    world.held[number]?.response.end('done');
  }
  t.same(
    (await Promise.all(answers)).map(({ status }) => status),
    Array.from({ length: 8 }, () => 200),
  );
});

t.test('a waiting client may leave, and the next one gets its turn', async (t) => {
  const world = await limitedWorld(t, { concurrency: 1 });
  await world.startPod();
  const first = world.ask(world.port, { path: '/first' });
  await until(() => world.held.length === 1);
  const leaving = world.open(world.port, { path: '/leaves' });
  leaving.on('error', () => undefined);
  leaving.end();
  await until(() => world.queue.waiting() === 1);
  const last = world.ask(world.port, { path: '/last' });
  await until(() => world.queue.waiting() === 2);
  leaving.destroy();
  await until(() => world.queue.waiting() === 1);
  world.held[0]?.response.end();
  await until(() => world.held.length === 2);
  t.equal(world.held[1]?.url, '/last');
  world.held[1]?.response.end();
  await Promise.all([first, last]);
  t.match(await world.registry.metrics(), /function_requests_total\{.*result="client_gone",status="499"\} 1/);
});

t.test('the queue is bounded in number and time', async (t) => {
  const world = await limitedWorld(t, { concurrency: 1 }, { queueMax: 1, holdMs: 300 });
  await world.startPod();
  const first = world.ask(world.port);
  await until(() => world.held.length === 1);
  const second = world.ask(world.port);
  await until(() => world.queue.waiting() === 1);
  const third = await world.ask(world.port);
  t.match(third, { status: 503, headers: { 'retry-after': /^\d+$/ } });
  t.match(json(third.body), { code: 'function_busy', details: { fault: 'function' } });
  t.match(json((await second).body), { code: 'function_busy' }, 'after the hold');
  world.held[0]?.response.end();
  await first;
});

t.test('a changed limit applies to the next request', async (t) => {
  const world = await limitedWorld(t, { concurrency: 1 });
  await world.startPod();
  const object = helloFunction();
  world.functions.put({ ...object, spec: { ...object.spec, concurrency: 2 } });
  const answers = [world.ask(world.port), world.ask(world.port)];
  await until(() => world.held.length === 2);
  for (const { response } of world.held) response.end();
  await Promise.all(answers);
});

t.test('a pod that is silent until the time-out is abandoned, and its work is cancelled', async (t) => {
  const world = await limitedWorld(t, { requestTimeoutSeconds: 1 });
  await world.startPod();
  const pending = world.ask(world.port, { method: 'POST', body: 'x' });
  await until(() => world.held.length === 1);
  const [{ response } = { response: undefined }] = world.held;
  const cancelled = response && once(response, 'close');
  const answer = await pending;
  t.equal(answer.status, 504);
  t.match(json(answer.body), { code: 'function_timeout', details: { fault: 'timeout' } });
  await cancelled;
  t.match(await world.registry.metrics(), /function_requests_total\{.*result="function_timeout",status="5xx"\} 1/);

  const streamed = world.ask(world.port);
  await until(() => world.held.length === 2);
  world.held[1]?.response.write('begun ');
  // Longer than the time-out, which ends once an answer has begun.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  world.held[1]?.response.end('and ended');
  t.equal((await streamed).body, 'begun and ended');
});

t.test('each function has its own metrics, and a deleted function has none', async (t) => {
  const world = await limitedWorld(t, {});
  await world.startPod();
  const answers = [world.ask(world.port), world.ask(world.port)];
  await until(() => world.held.length === 2);
  world.held[0]?.response.end();
  world.held[1]?.response.writeHead(404).end();
  await Promise.all(answers);
  const labels = 'namespace="shop-prod",function="hello"';
  const figures = await world.registry.metrics();
  t.match(figures, `function_requests_total{${labels},result="answered",status="2xx"} 1`);
  t.match(figures, `function_requests_total{${labels},result="answered",status="4xx"} 1`);
  t.match(figures, `function_request_duration_seconds_count{${labels}} 2`);
  const workload = 'namespace="shop-prod",kind="function",name="hello"';
  t.match(figures, `svc_requests_total{${workload},code="2xx"} 1`);
  t.match(figures, `svc_requests_total{${workload},code="4xx"} 1`);
  t.match(figures, `svc_request_duration_seconds_count{${workload}} 2`);
  const late = world.ask(world.port);
  await until(() => world.held.length === 3);
  world.metrics.forget({ namespace: 'shop-prod', name: 'hello' });
  t.notMatch(await world.registry.metrics(), labels);
  t.notMatch(await world.registry.metrics(), workload);
  world.held[2]?.response.end();
  await late;
  await until(() => world.activity.inflight() === 0);
  t.notMatch(await world.registry.metrics(), labels, 'nor by a request that ends after it');
  t.notMatch(await world.registry.metrics(), workload);
});
