import { Registry } from 'prom-client';
import t from 'tap';
import { createActivator } from '../../../gate/interceptor/activator.ts';
import { createActivity } from '../../../gate/interceptor/activity.ts';
import { createEndpoints, type Endpoint } from '../../../gate/interceptor/endpoints.ts';
import { RequestFailure } from '../../../gate/interceptor/failure.ts';
import { functionLimits } from '../../../runtime/contracts/resources/function.ts';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import { KubeError, type Scale } from '../../../runtime/kube/kube-client.ts';
import { replicasFor } from '../../../workers/scaler/bands.ts';
import { createScaler, type ScaledDeployment } from '../../../workers/scaler/scaler.ts';
import { fakeClock, settle } from '../../support/clock.ts';
import { silentLog } from '../../support/log.ts';
import { functionId, helloFunction, helloPod, host, testSource, noEvents } from '../../gate/interceptor/world.ts';

const target = {
  id: functionId,
  namespace: 'shop-prod',
  name: 'hello',
  host,
  limits: { concurrency: 100, timeoutMs: 300_000 },
};
const idleTimeoutSeconds = 20;
const preStopMs = 3_000;
const graceMs = 30_000;
const reportMaxAgeMs = 10_000;

/** mulberry32: the same seed gives the same run. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

interface SimulatedPod {
  uid: string;
  address: string;
  listening: boolean;
  /** When its process stops accepting connections, and when it is killed with the rest of its requests. */
  closesAt: number;
  killedAt: number;
}

/**
 * One function with a slow kubelet, two interceptors (the real activator, endpoints and counts) with lagging watches,
 * and the real scaler, whose reports sometimes fail. Only time and the network are simulated.
 */
function createSimulation(seed: number) {
  const clock = fakeClock();
  const chance = random(seed);
  const between = (low: number, high: number) => low + Math.floor(chance() * (high - low));
  const violations: string[] = [];
  const check = (holds: boolean, what: string) => {
    if (!holds) violations.push(`${clock.monotonic()} ms: ${what}`);
  };
  const background = (work: Promise<unknown>) =>
    void work.catch((error: unknown) => violations.push(`${clock.monotonic()} ms: ${String(error)}`));

  // The Deployment and its pods.
  let version = 1;
  let replicas = 0;
  let podCount = 0;
  const running: SimulatedPod[] = [];
  const byAddress = new Map<string, SimulatedPod>();
  const onEveryInterceptor = (act: (interceptor: ReturnType<typeof interceptorOf>) => void) => {
    for (const interceptor of interceptors) {
      background(clock.sleep(between(0, 1_000)).then(() => act(interceptor)));
    }
  };
  const startPod = async () => {
    const uid = `pod-${podCount++}`;
    const pod = { uid, address: `10.0.0.${podCount}`, listening: false, closesAt: Infinity, killedAt: Infinity };
    running.push(pod);
    byAddress.set(pod.address, pod);
    await clock.sleep(between(500, 1_500));
    if (pod.closesAt !== Infinity) return;
    onEveryInterceptor(({ pods }) => {
      // A watch never shows an older state after a newer one.
      if (pod.closesAt === Infinity) pods.put(helloPod(uid, 8080, { podIP: pod.address, phase: 'Running' }));
    });
    await clock.sleep(between(0, 400));
    pod.listening = true;
  };
  const stopPod = (pod: SimulatedPod) => {
    pod.closesAt = clock.monotonic() + preStopMs;
    pod.killedAt = clock.monotonic() + graceMs;
    onEveryInterceptor(({ pods }) => pods.remove(pod.uid));
  };
  const write = (scale: Scale, newReplicas: number): Promise<void> => {
    if (scale.resourceVersion !== String(version)) return Promise.reject(new KubeError(409, 'Conflict', 'changed'));
    version++;
    replicas = newReplicas;
    while (running.length > newReplicas) stopPod(running.splice(between(0, running.length), 1)[0] as SimulatedPod);
    while (running.length < newReplicas) background(startPod());
    return Promise.resolve();
  };
  const getScale = async (): Promise<Scale> => {
    await clock.sleep(between(1, 40));
    return { namespace: 'shop-prod', name: 'hello', resourceVersion: String(version), replicas, currentReplicas: 0 };
  };

  // The interceptors.
  const done = { asked: 0, answered: 0 };
  const interceptorOf = (uid: string) => {
    const pods = testSource<Pod>();
    const endpoints = createEndpoints({
      pods,
      clock,
      log: silentLog,
      probe: (address) => Promise.resolve(takes(address)),
    });
    const activity = createActivity(clock);
    const activator = createActivator({
      kube: {
        getScale,
        replaceScale: async (scale, newReplicas) => {
          check(scale.replicas === 0 && newReplicas === 1, 'an interceptor only raises from 0 to 1');
          await clock.sleep(between(1, 40));
          await write(scale, newReplicas);
        },
      },
      endpoints,
      clock,
      log: silentLog,
      holdMs: 60_000,
      queueMax: 1_000,
    });
    endpoints.start();
    activator.start();
    return { uid, pods, endpoints, activity, activator, muteUntil: 0, reportedAt: -Infinity, inflight: 0 };
  };
  const takes = (address: string): boolean => {
    const pod = byAddress.get(address);
    return pod !== undefined && pod.listening && clock.monotonic() < pod.closesAt;
  };
  const interceptors = [interceptorOf('interceptor-0'), interceptorOf('interceptor-1')];

  const serve = async (endpoint: Endpoint, ms: number): Promise<boolean> => {
    if (!takes(endpoint.host)) return false;
    await clock.sleep(ms);
    check(clock.monotonic() <= (byAddress.get(endpoint.host)?.killedAt ?? 0), 'a request was killed with its pod');
    return true;
  };
  const request = async (at: ReturnType<typeof interceptorOf>, ms: number): Promise<void> => {
    done.asked++;
    at.activity.begin(target);
    const arrivedAt = clock.monotonic();
    try {
      for (;;) {
        const endpoint = at.endpoints.pick(functionId);
        if (!endpoint) {
          await at.activator.hold(target, arrivedAt, new AbortController().signal);
          continue;
        }
        endpoint.inflight++;
        const served = await serve(endpoint, ms).finally(() => endpoint.inflight--);
        if (served) break;
        at.endpoints.suspect(endpoint);
      }
      done.answered++;
    } catch (error) {
      check(false, `a request was lost: ${error instanceof RequestFailure ? error.failure.code : String(error)}`);
    } finally {
      at.activity.end(target);
    }
  };

  // The scaler.
  const resource = { ...helloFunction() };
  resource.spec = { ...resource.spec, idleTimeoutSeconds };
  const deployment = (): Stored<ScaledDeployment> => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    spec: { replicas },
    metadata: { ...resource.metadata, resourceVersion: String(version) },
  });
  let observed = deployment();
  const scaler = createScaler({
    ...noEvents,
    kube: {
      replaceScale: async (scale, newReplicas) => {
        check(scale.replicas > 0, 'the scaler never raises from zero');
        if (newReplicas < scale.replicas) {
          const oldest = Math.min(...interceptors.map(({ reportedAt }) => reportedAt));
          check(clock.monotonic() - oldest <= reportMaxAgeMs, 'a scale-down needs a fresh report of every interceptor');
          const inflight = interceptors.reduce((sum, interceptor) => sum + interceptor.inflight, 0);
          check(
            inflight === 0
              ? newReplicas >= 0
              : newReplicas >= replicasFor({ inflight, rate: 0 }, functionLimits(resource.spec)),
            'never below what is in flight',
          );
        }
        await write(scale, newReplicas);
      },
    },
    functions: { list: () => [resource], version: () => '1' },
    // The informer's view, which sometimes lags.
    deployments: {
      version: () => String(clock.monotonic()),
      get: () => {
        const view = observed;
        observed = deployment();
        return chance() < 0.2 ? view : observed;
      },
    },
    interceptors: { list: () => interceptors.map(({ uid }) => helloPod(uid, 8080, { podIP: uid, phase: 'Running' })) },
    fetchReport: async (pod) => {
      const interceptor = interceptors.find(({ uid }) => uid === pod.metadata.uid);
      if (!interceptor || clock.monotonic() < interceptor.muteUntil) throw new Error('timed out');
      interceptor.reportedAt = clock.monotonic();
      const functions = interceptor.activity.report([target]);
      interceptor.inflight = functions[0]?.inflight ?? 0;
      await clock.sleep(between(1, 50));
      return { replica: interceptor.uid, at: clock.now().toISOString(), functions };
    },
    clock,
    log: silentLog,
    registry: new Registry(),
  });

  return {
    clock,
    chance,
    between,
    violations,
    done,
    interceptors,
    scaler,
    request,
    background,
    replicas: () => replicas,
    stop: async () => {
      await scaler.stop();
      for (const { activator, endpoints } of interceptors) {
        activator.stop();
        endpoints.stop();
      }
    },
  };
}

for (const seed of [1, 2, 3]) {
  t.test(`half an hour of bursts, pauses and lost reports (seed ${seed})`, async (t) => {
    const sim = createSimulation(seed);
    const { clock, between, chance, interceptors } = sim;
    let zeros = 0;
    let maxPods = 0;
    sim.scaler.start();
    while (clock.monotonic() < 30 * 60_000) {
      const burst = chance() < 0.15 ? between(20, 150) : between(1, 4);
      for (let n = 0; n < burst; n++) {
        const at = interceptors[between(0, 2)];
        if (at) sim.background(sim.request(at, between(5, chance() < 0.1 ? 12_000 : 500)));
      }
      const mute = interceptors[between(0, 2)];
      if (mute && chance() < 0.15) mute.muteUntil = clock.monotonic() + between(1_000, 40_000);
      await clock.advance(chance() < 0.25 ? between(18_000, 60_000) : between(50, 4_000));
      if (sim.replicas() === 0) zeros++;
      maxPods = Math.max(maxPods, sim.replicas());
      if (sim.violations.length > 0) break;
    }
    for (const interceptor of interceptors) interceptor.muteUntil = 0;
    await clock.advance(90_000);
    t.same(sim.violations, []);
    t.equal(sim.done.answered, sim.done.asked, `${sim.done.asked} requests`);
    t.equal(sim.replicas(), 0, 'quiet ends at zero');
    t.ok(zeros > 3 && maxPods > 3, `was at zero ${zeros} times and at most at ${maxPods} replicas`);
    await sim.stop();
  });
}

t.test('an interceptor that stops reporting keeps all pods up until it reports again', async (t) => {
  const sim = createSimulation(9);
  const [one, two] = sim.interceptors;
  if (!one || !two) return;
  sim.background(sim.request(one, 100));
  sim.scaler.start();
  await sim.clock.advance(5_000);
  t.equal(sim.replicas(), 1);
  two.muteUntil = Infinity;
  await sim.clock.advance(600_000);
  t.equal(sim.replicas(), 1, 'its last report no longer counts');
  two.muteUntil = 0;
  await sim.clock.advance(4_000);
  t.equal(sim.replicas(), 0);
  await sim.stop();
  await settle();
  t.same(sim.violations, []);
});
