import t from 'tap';
import { createActivity } from '../../../gate/interceptor/activity.ts';
import { createEndpoints } from '../../../gate/interceptor/endpoints.ts';
import { createRoutes, hostOf } from '../../../gate/interceptor/routes.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import type { FunctionResource } from '../../../runtime/contracts/resources/function.ts';
import { fakeClock } from '../../support/clock.ts';
import { silentLog } from '../../support/log.ts';
import { functionId, helloFunction, helloPod, host, testSource } from './world.ts';

const target = { id: functionId, namespace: 'shop-prod', name: 'hello', host };

t.test('idle time counts from the last activity, or from the start of the process', async (t) => {
  const clock = fakeClock();
  const activity = createActivity(clock);
  const one = () => activity.report([target])[0];
  await clock.advance(5_000);
  t.same(one(), { id: functionId, namespace: 'shop-prod', name: 'hello', inflight: 0, requests: 0, idleMs: 5_000 });
  activity.begin(target);
  activity.begin(target);
  await clock.advance(60_000);
  t.match(one(), { inflight: 2, requests: 2, idleMs: 0 });
  activity.end(target);
  await clock.advance(1_000);
  t.match(one(), { inflight: 1, idleMs: 0 });
  activity.end(target);
  clock.jump(3_600_000);
  await clock.advance(7_000);
  t.match(one(), { inflight: 0, requests: 2, idleMs: 7_000 }, 'the wall clock does not count');
});

t.test('a function whose route was deleted stays in the report while requests are in flight', (t) => {
  const activity = createActivity(fakeClock());
  activity.begin(target);
  t.match(activity.report([]), [{ id: functionId, inflight: 1 }]);
  activity.end(target);
  t.same(activity.report([]), []);
  t.end();
});

t.test('only a host with a claim is routed', (t) => {
  const functions = testSource<FunctionResource>();
  const routes = createRoutes(functions);
  const hello = helloFunction();
  functions.put(hello);
  routes.start();
  t.equal(routes.find(host)?.id, functionId);
  t.equal(routes.find(`${host.toUpperCase()}.:8443`)?.id, functionId);
  t.equal(routes.find(undefined), undefined);

  const loser = { ...hello, metadata: { ...hello.metadata, uid: 'loser', namespace: 'other-prod' }, status: {} };
  functions.put(loser);
  t.equal(routes.find(host)?.namespace, 'shop-prod');

  functions.put({ ...hello, status: { host: 'hello.example.com' } });
  t.equal(routes.find(host), undefined);
  t.equal(routes.find('hello.example.com')?.id, functionId);
  const going = { ...hello, metadata: { ...hello.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
  functions.put(going);
  t.same(routes.list(), []);
  functions.put(hello);
  functions.remove(hello.metadata.uid);
  t.same(routes.list(), []);
  routes.stop();
  t.end();
});

t.test('a Host header in all its forms', (t) => {
  for (const [header, name] of [
    ['a.b', 'a.b'],
    ['A.b:80', 'a.b'],
    ['a.b.', 'a.b'],
    ['a.b.:80', 'a.b'],
  ] as const) {
    t.equal(hostOf(header), name);
  }
  t.end();
});

t.test('a pod is probed once it has an address, and usable at its first answer', async (t) => {
  const clock = fakeClock();
  const pods = testSource<Pod>();
  const probed: number[] = [];
  let answers = false;
  const endpoints = createEndpoints({
    pods,
    clock,
    log: silentLog,
    probe: () => {
      probed.push(clock.monotonic());
      return Promise.resolve(answers);
    },
  });
  endpoints.start();
  pods.put(helloPod('pod-0', 8080));
  await clock.advance(100);
  t.same(probed, [], 'nothing to probe without an address');
  pods.put(helloPod('pod-0', 8080, { podIP: '10.0.0.1' }));
  await clock.advance(60);
  t.same(probed, [100, 120, 140, 160]);
  t.equal(endpoints.pick(functionId), undefined);
  answers = true;
  await clock.advance(20);
  t.match(endpoints.pick(functionId), { host: '10.0.0.1', port: 8080, seenAt: 100, usableAt: 180 });
  await clock.advance(1_000);
  t.equal(probed.length, 5, 'a usable pod is not probed');

  const endpoint = endpoints.pick(functionId);
  if (endpoint) endpoints.suspect(endpoint);
  t.equal(endpoints.pick(functionId), undefined, 'a refused connection removes it at once');
  await clock.advance(0);
  t.equal(endpoints.pick(functionId), endpoint, 'until it answers again');

  const going = helloPod('pod-0', 8080, { podIP: '10.0.0.1' });
  going.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
  pods.put(going);
  t.equal(endpoints.pick(functionId), undefined, 'a deleted pod is removed at once');
  endpoints.stop();
  t.equal(clock.sleepers(), 0);
});

t.test('a pod that never responds is probed forever, but less often over time', async (t) => {
  const clock = fakeClock();
  const pods = testSource<Pod>();
  let probes = 0;
  const endpoints = createEndpoints({
    pods,
    clock,
    log: silentLog,
    probe: () => {
      probes++;
      return Promise.resolve(false);
    },
  });
  endpoints.start();
  pods.put(helloPod('pod-0', 8080, { podIP: '10.0.0.1' }));
  await clock.advance(60_000);
  const eager = probes;
  await clock.advance(60_000);
  t.ok(probes - eager <= 61 && probes > eager, `${eager}, then ${probes - eager}`);
  pods.remove('pod-0');
  await clock.advance(0);
  t.equal(clock.sleepers(), 0);
});

t.test('many pods that start at once are probed 500 times a second in all', async (t) => {
  const clock = fakeClock();
  const pods = testSource<Pod>();
  let probes = 0;
  const answering = new Set<number>();
  const endpoints = createEndpoints({
    pods,
    clock,
    log: silentLog,
    probe: (_host, port) => {
      probes++;
      return Promise.resolve(answering.has(port));
    },
  });
  endpoints.start();
  t.teardown(() => endpoints.stop());
  for (let port = 1; port <= 200; port++) pods.put(helloPod(`pod-${port}`, port, { podIP: '10.0.0.1' }));
  await clock.advance(2_000);
  probes = 0;
  await clock.advance(2_000);
  t.equal(probes, 1_000);
  for (let port = 1; port <= 195; port++) answering.add(port);
  await clock.advance(1_000);
  probes = 0;
  await clock.advance(1_000);
  t.equal(probes, 250, 'each of the last five every 20 ms');
});

t.test('a function has a fault only when all of its pods have one', async (t) => {
  const clock = fakeClock();
  const pods = testSource<Pod>();
  const changes: string[] = [];
  const endpoints = createEndpoints({ pods, clock, log: silentLog, probe: () => Promise.resolve(false) });
  endpoints.onChange((id) => changes.push(id));
  endpoints.start();
  const broken: Pod['status'] = {
    containerStatuses: [
      { name: 'function', ready: false, restartCount: 0, state: { waiting: { reason: 'ImagePullBackOff' } } },
    ],
  };
  pods.put(helloPod('pod-0', 8080, broken));
  t.match(endpoints.fault(functionId), { reason: 'ImagePullBackOff' });
  t.same(changes, [functionId]);
  pods.put(helloPod('pod-1', 8080));
  t.equal(endpoints.fault(functionId), undefined, 'another is starting');
  pods.put(helloPod('pod-1', 8080, broken));
  pods.remove('pod-0');
  t.match(endpoints.fault(functionId), { reason: 'ImagePullBackOff' });
  pods.remove('pod-1');
  t.equal(endpoints.fault(functionId), undefined);
  endpoints.stop();
});
