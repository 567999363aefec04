import { once } from 'node:events';
import { createServer } from 'node:http';
import { Registry } from 'prom-client';
import t from 'tap';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import type { FunctionTraffic } from '../../../runtime/contracts/traffic-report.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import type { EventLoad } from '../../../runtime/records/event-backlog.ts';
import { createReports, fetchReport } from '../../../workers/scaler/reports.ts';
import { createScaler, type ScaledDeployment } from '../../../workers/scaler/scaler.ts';
import { functionId, helloFunction, helloPod, noEvents } from '../../gate/interceptor/world.ts';
import { fakeClock } from '../../support/clock.ts';
import { recordingLog, silentLog } from '../../support/log.ts';

const interceptor = (name: string, status: Pod['status'] = { podIP: '10.0.0.9', phase: 'Running' }) =>
  helloPod(name, 8080, status);
const traffic = (inflight: number, idleMs: number): FunctionTraffic => ({
  id: functionId,
  namespace: 'shop-prod',
  name: 'hello',
  requests: 9,
  inflight,
  idleMs,
});
const report = (functions: FunctionTraffic[]) => ({ replica: 'x', at: '2026-01-01T00:00:00Z', functions });

t.test('traffic is known only when every live interceptor reported it within ten seconds', async (t) => {
  const clock = fakeClock();
  const answers = new Map<string, unknown>([
    ['one', report([traffic(2, 0)])],
    ['two', report([traffic(1, 0)])],
  ]);
  const reports = createReports({
    clock,
    log: silentLog,
    fetch: (pod) => {
      const answer = answers.get(pod.metadata.name);
      return answer === undefined ? Promise.reject(new Error('refused')) : Promise.resolve(answer);
    },
  });
  const reconcileWith = async (...pods: Stored<Pod>[]) => {
    await reports.refresh(pods);
    return reports.traffic(functionId);
  };
  const [one, two] = [interceptor('one'), interceptor('two')];
  t.same(await reconcileWith(), { inflight: 0, rate: 0, idleMs: undefined }, 'there is no interceptor');
  t.same(await reconcileWith(one, two), { inflight: 3, rate: 0, idleMs: 0 });
  answers.set('one', report([traffic(0, 8_000)])).set('two', report([traffic(0, 5_000)]));
  t.same(await reconcileWith(one, two), { inflight: 0, rate: 0, idleMs: 5_000 });
  answers.delete('two');
  await clock.advance(10_000);
  t.same(await reconcileWith(one, two), { inflight: 0, rate: 0, idleMs: 5_000 });
  await clock.advance(1);
  t.same(await reconcileWith(one, two), { inflight: 0, rate: 0, idleMs: undefined }, 'too old');
  t.same(await reconcileWith(one), { inflight: 0, rate: 0, idleMs: 8_000 }, 'the interceptor was deleted');
  t.same(
    await reconcileWith(one, interceptor('new', {})),
    { inflight: 0, rate: 0, idleMs: 8_000 },
    'an interceptor without an address serves no requests',
  );
  const terminatingInterceptor = interceptor('two');
  terminatingInterceptor.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
  t.equal(
    (await reconcileWith(one, terminatingInterceptor)).idleMs,
    undefined,
    'an interceptor that drains still counts',
  );
  answers.set('two', report([]));
  t.equal((await reconcileWith(one, two)).idleMs, undefined, 'it does not know the function');
  answers.set('two', { nonsense: true });
  t.equal((await reconcileWith(one, interceptor('two'))).idleMs, undefined);
});

t.test('the rate is the mean of the last seconds, over all interceptors', async (t) => {
  const clock = fakeClock();
  const counts = new Map([
    ['one', 1_000_000],
    ['two', 0],
  ]);
  const reports = createReports({
    clock,
    log: silentLog,
    fetch: ({ metadata: { name } }) =>
      Promise.resolve(report([{ ...traffic(1, 0), requests: counts.get(name) ?? Number.NaN }])),
  });
  const [one, two] = [interceptor('one'), interceptor('two')];
  const rateAfter = async (requests: Record<string, number>, pods = [one, two]) => {
    await clock.advance(2_000);
    for (const [name, count] of Object.entries(requests)) counts.set(name, (counts.get(name) ?? 0) + count);
    await reports.refresh(pods);
    return reports.traffic(functionId).rate;
  };
  t.equal(await rateAfter({}), 0, 'what was counted before the first report has no time');
  t.equal(await rateAfter({ one: 2_000, two: 400 }), 1_200);
  t.equal(await rateAfter({ one: 2_000, two: 400 }), 1_200);
  t.equal(await rateAfter({}), 800);
  t.equal(await rateAfter({}), 400);
  t.equal(await rateAfter({}), 0, 'over after six seconds');
  t.equal(await rateAfter({ one: -900_000 }), 0, 'a count that began again is no rate');
  t.equal(await rateAfter({ one: 12_000 }, [one]), 0);
  counts.delete('one');
  for (const _ of seconds(10)) await rateAfter({}, [one]);
  t.equal(reports.traffic(functionId).rate, 0, 'an interceptor that stopped reporting counts for ten seconds');
});

t.test('many short requests scale a function up within seconds, and back down after a minute', async (t) => {
  const world = eventWorld('http');
  world.replicas = 1;
  let requests = 0;
  const next = (rate: number) => {
    requests += 2 * rate;
    world.traffic = [{ ...traffic(1, 0), requests }];
    return world.look();
  };
  t.equal(await next(0), 1);
  t.equal(await next(5_000), 10);
  t.equal(await next(0), 10);
  for (const _ of seconds(64)) await next(300);
  t.equal(world.replicas, 2);
});

t.test('a write carries the version that was read, and a lost race is not a fault', async (t) => {
  const recorded = recordingLog();
  const versions: string[] = [];
  let fail: Error | undefined = new KubeError(409, 'Conflict', 'changed');
  const hello = helloFunction();
  const deployment: Stored<ScaledDeployment> = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    spec: { replicas: 1 },
    metadata: { ...hello.metadata, resourceVersion: '41' },
  };
  const scaler = createScaler({
    ...noEvents,
    kube: {
      replaceScale: (scale, replicas) => {
        versions.push(`${scale.resourceVersion}:${replicas}`);
        return fail ? Promise.reject(fail) : Promise.resolve();
      },
    },
    functions: { list: () => [hello], version: () => undefined },
    deployments: { get: () => deployment, version: () => undefined },
    interceptors: { list: () => [interceptor('one')] },
    fetchReport: () => Promise.resolve(report([traffic(0, 300_000)])),
    clock: fakeClock(),
    log: recorded.log,
    registry: new Registry(),
  });
  await scaler.tick();
  t.same(versions, ['41:0']);
  t.same(recorded.entries, []);
  fail = new KubeError(500, 'InternalError', 'no');
  await scaler.tick();
  t.match(recorded.entries, [{ msg: 'cannot scale function' }]);
  fail = undefined;
  await scaler.tick();
  t.match(recorded.entries[1], { msg: 'function scaled', from: 1, to: 0 });
});

t.test('a Deployment of an earlier function of that name is not changed', async (t) => {
  const hello = helloFunction();
  let writes = 0;
  const scaler = createScaler({
    ...noEvents,
    kube: { replaceScale: () => Promise.resolve(void writes++) },
    functions: { list: () => [hello], version: () => undefined },
    deployments: {
      version: () => undefined,
      get: () => ({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        spec: { replicas: 1 },
        metadata: { ...hello.metadata, labels: { 'platform.svc/id': 'another' } },
      }),
    },
    interceptors: { list: () => [interceptor('one')] },
    fetchReport: () => Promise.resolve(report([traffic(0, 300_000)])),
    clock: fakeClock(),
    log: silentLog,
    registry: new Registry(),
  });
  await scaler.tick();
  t.equal(writes, 0);
});

t.test('a function with its minimum of pods and no load is left alone until it changes or gets requests', async (t) => {
  const clock = fakeClock();
  let considered = false;
  const helloWith = (minReplicas: number) => ({
    ...helloFunction(),
    spec: {
      ...helloFunction().spec,
      get minReplicas() {
        considered = true;
        return minReplicas;
      },
    },
  });
  const deploymentWith = (replicas: number): Stored<ScaledDeployment> => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: helloFunction().metadata,
    spec: { replicas },
  });
  const functions = { current: helloWith(1), version: 1, looks: 0 };
  const deployments = { current: deploymentWith(1), version: 1 };
  const change = <T>(cache: { current: T; version: number }, object: T) => {
    cache.current = object;
    cache.version++;
  };
  const load = { inflight: 0, requests: 0 };
  const scaler = createScaler({
    ...noEvents,
    kube: { replaceScale: (_, replicas) => Promise.resolve(change(deployments, deploymentWith(replicas))) },
    functions: {
      list() {
        functions.looks++;
        return [functions.current];
      },
      version: () => String(functions.version),
    },
    deployments: { get: () => deployments.current, version: () => String(deployments.version) },
    interceptors: { list: () => [interceptor('one')] },
    fetchReport: () => Promise.resolve(report([{ ...traffic(load.inflight, 0), requests: load.requests }])),
    clock,
    log: silentLog,
    registry: new Registry(),
  });
  /** One look, 2 s after the previous one. */
  const look = async () => {
    considered = false;
    await clock.advance(2_000);
    await scaler.tick();
    return { replicas: deployments.current.spec?.replicas, considered };
  };
  const lookFor = async (count: number) => {
    for (const _ of seconds(count)) await look();
    return look();
  };
  t.same(await look(), { replicas: 1, considered: true });
  t.same(await lookFor(10), { replicas: 1, considered: false });
  t.equal(functions.looks, 1, 'a cache that has not changed is not gone through again');

  load.inflight = 35;
  t.same(await look(), { replicas: 4, considered: true }, 'at once');
  load.inflight = 0;
  t.same(await lookFor(70), { replicas: 1, considered: false });
  load.requests = 60_000;
  t.same(await look(), { replicas: 10, considered: true }, 'also for short requests between two looks');
  t.same(await lookFor(70), { replicas: 1, considered: false });

  change(functions, helloWith(3));
  t.same(await look(), { replicas: 3, considered: true }, 'a changed function');
  t.same(await lookFor(4), { replicas: 3, considered: false });
  change(deployments, deploymentWith(7));
  t.match(await look(), { considered: true }, 'a changed Deployment object');
  t.same(await lookFor(70), { replicas: 3, considered: false });
});

/** A function with a data source, and its scaler over a Deployment that accepts every write. */
function eventWorld(trigger: 'http' | 'postgres', idleTimeoutSeconds = 300) {
  const clock = fakeClock();
  const hello = helloFunction();
  hello.spec = { ...hello.spec, trigger, idleTimeoutSeconds, events: { type: 'postgres', source: 'db' } };
  const changed: string[] = [];
  const world = {
    replicas: 0,
    load: { backlog: 0, problem: null } as EventLoad | undefined,
    traffic: [traffic(0, 300_000)],
    changed,
    strategy: 'RollingUpdate',
    /** One look, 2 s after the previous one. @returns the replicas after it */
    async look(backlog?: number) {
      if (world.load && backlog !== undefined) world.load = { ...world.load, backlog };
      await clock.advance(2_000);
      await scaler.tick();
      return world.replicas;
    },
  };
  const scaler = createScaler({
    kube: { replaceScale: (_, replicas) => Promise.resolve(void (world.replicas = replicas)) },
    functions: { list: () => [hello], version: () => undefined },
    deployments: {
      version: () => undefined,
      get: () => ({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: hello.metadata,
        spec: { replicas: world.replicas, strategy: { type: world.strategy } },
      }),
    },
    interceptors: { list: () => [interceptor('one')] },
    fetchReport: () => Promise.resolve(report(world.traffic)),
    eventLoads: () =>
      world.load ? Promise.resolve(new Map([[functionId, world.load]])) : Promise.reject(new Error('no database')),
    onSourceChange: ({ metadata }) => changed.push(metadata.name),
    clock,
    log: silentLog,
    registry: new Registry(),
  });
  return world;
}

const seconds = (count: number) => Array.from({ length: count / 2 });

t.test('a function that mounts a single-pod volume has at most one replica', async (t) => {
  const world = eventWorld('postgres');
  world.strategy = 'Recreate';
  t.equal(await world.look(1_000), 1);
  world.strategy = 'RollingUpdate';
  t.equal(await world.look(1_000), 10);
  world.strategy = 'Recreate';
  t.equal(await world.look(1_000), 1);
});

t.test('events scale up from zero, to as many pods as there is work for, and keep at least one pod', async (t) => {
  const world = eventWorld('postgres');
  // Interceptors do not know it.
  world.traffic = [];
  t.equal(await world.look(), 0);
  t.equal(await world.look(1), 1);
  t.equal(await world.look(250), 3);
  t.equal(await world.look(100_000), 10);
  t.equal(await world.look(40), 10, 'a dip removes no pod');
  for (const _ of seconds(60)) await world.look();
  t.equal(world.replicas, 1, 'after a minute it does');
  world.load = undefined;
  for (const _ of seconds(60)) await world.look();
  t.equal(world.replicas, 1, 'an unknown backlog removes no pod');
  world.load = { backlog: 0, problem: null };
  for (const _ of seconds(28)) await world.look();
  t.equal(world.replicas, 1);
  t.equal(await world.look(), 0);
  world.load = undefined;
  t.equal(await world.look(), 0);
});

t.test('a function with both triggers scales to zero when there are neither events nor requests', async (t) => {
  const world = eventWorld('http', 10);
  world.replicas = 1;
  world.traffic = [traffic(0, 9_000)];
  for (const _ of seconds(20)) await world.look(0);
  t.equal(world.replicas, 1, 'requests arrived a moment ago');
  world.traffic = [traffic(0, 60_000)];
  t.equal(await world.look(1), 1, 'an event is in progress');
  for (const _ of seconds(8)) t.equal(await world.look(0), 1);
  t.equal(await world.look(), 0, 'the function’s own time-out is shorter than the wait for events');
  t.equal(await world.look(5), 1);
});

t.test('a source that begins to fail or recovers is reported once', async (t) => {
  const world = eventWorld('postgres');
  await world.look();
  world.load = { backlog: 0, problem: 'The service does not answer.' };
  await world.look();
  await world.look();
  t.same(world.changed, ['hello']);
  world.load = undefined;
  await world.look();
  world.load = { backlog: 0, problem: null };
  await world.look();
  t.same(world.changed, ['hello', 'hello']);
});

t.test('the report is read from the admin port of the pod', async (t) => {
  const server = createServer((request, response) => {
    response.statusCode = request.url === '/report' ? 200 : 404;
    response.end(JSON.stringify(report([])));
  });
  // The port is fixed and so is its owner; another loopback address keeps tests apart.
  server.listen(8081, '127.0.0.77');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  t.match(await fetchReport(interceptor('one', { podIP: '127.0.0.77' })), { replica: 'x' });
  server.removeAllListeners('request');
  await t.rejects(fetchReport(interceptor('one', { podIP: '127.0.0.77' })), { name: 'TimeoutError' });
});
