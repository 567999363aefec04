import type { Test } from 'tap';
import { Registry } from 'prom-client';
import type { Logger } from 'pino';
import type { KubeObject, ObjectMeta, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds, type ResourceKind } from '../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { createControllerMetrics } from '../../runtime/kube/controller-metrics.ts';
import { createController, type ControllerDefinition } from '../../runtime/kube/controller.ts';
import { createEventRecorder, type EventRecorder } from '../../runtime/kube/events.ts';
import { createInformers } from '../../runtime/kube/informers.ts';
import { KubeError, type KubeClient, type WatchEvent } from '../../runtime/kube/kube-client.ts';
import { fakeClock, type FakeClock } from './clock.ts';
import { fakeKube, type FakeCall, type FakeKube } from './fake-kube.ts';
import { silentLog } from './log.ts';
import { sample, testSeed } from './soak.ts';

/**
 * State-space tests in the manner of Sieve (https://www.usenix.org/conference/osdi22/presentation/sun): a scenario runs
 * once undisturbed, and then with one fault at each place where a fault can occur. The final state must be the same.
 */
export interface Scenario<Records> {
  /** Creates the first objects; returns the records that the controllers keep outside Kubernetes. Called per run. */
  begin(kube: FakeKube): Records;
  /** Creates the controllers of one process life. Called again after a crash, which loses their memory. */
  // oxlint-disable-next-line typescript/no-explicit-any -- each controller has its own type
  controllers(runningProcess: Life, records: Records): ControllerDefinition<any>[];
  /** The users' steps, in order; the controllers settle after each. Must be deterministic. */
  steps: readonly ((kube: FakeKube, records: Records) => Promise<unknown>)[];
  /** Does what Kubernetes' own controllers do; called every few seconds. Faults never hit these calls. */
  cluster?(kube: FakeKube): Promise<void>;
  /** The part of the records to compare at the end, besides every object except Events. */
  outcome?(records: Records): unknown;
  /** Called after every write; throws when an invariant is broken. */
  always?(kube: FakeKube, records: Records): void;
}

/** The interfaces of the controllers of one process life; all of them fail once that life has ended. */
export interface Life {
  kube: KubeClient;
  clock: Clock;
  log: Logger;
  events: EventRecorder;
  /** Lets faults hit a write to another store than Kubernetes; `false` says that it changed nothing. */
  write: <A extends unknown[]>(name: string, effect: (...args: A) => unknown) => (...args: A) => Promise<void>;
}

/**
 * One fault. `write` and `event` count from 1.
 * - `crash`: the process ends right after the write took effect, and another starts.
 * - `lost answer`: the write takes effect, and its answer never arrives.
 * - `refused`: the API server is overloaded (429) and does nothing.
 * - `missed`: the watch silently omits an event; the informer notices at its next list.
 * - `cut`: the watch ends with 410 instead of the event; later changes are seen at once or not at all.
 * - `duplicates`: every event arrives twice. `stale`: every event arrives 20 s late. `leaders`: two processes work at
 *   once.
 */
type Fault =
  | { kind: 'none' | 'duplicates' | 'stale' | 'leaders' }
  | { kind: 'crash' | 'lost answer' | 'refused'; write: number }
  | { kind: 'missed' | 'cut'; event: number };

/** How a run ended. */
interface Ended {
  /** Every object except Events by `kind namespace/name`, without random parts, and the scenario's outcome. */
  state: unknown;
  /** The writes of the controllers, in order, as `verb Kind namespace/name`. */
  writes: string[];
  /** The number of events that their watches delivered. */
  events: number;
  /** The controllers' writes after everything had settled. */
  restless: string[];
}

const staleMs = 20_000;
const nothingNew = '(nothing new)';
const bookmarkMs = 120_000;
const watchMs = 300_000;
/** Shorter than in production, so that a run simulates fewer minutes. */
const resyncMs = 300_000;
/** Longer than a resync with its jitter, and than the time after which an informer lists again. */
const lastRestMs = 11 * 60_000;

class Crash extends Error {
  override readonly name = 'Crash';
}

/** Runs the scenario once with the fault. @throws Error from `always` */
async function play<Records>(scenario: Scenario<Records>, fault: Fault): Promise<Ended> {
  const clock = fakeClock();
  const kube = fakeKube({ checkNamespaces: true, now: () => clock.now() });
  const records = scenario.begin(kube);
  const writes: string[] = [];
  let events = 0;
  let violation: unknown;
  const processes: RunningLife[] = [];

  const check = (number: number, text: string) => {
    try {
      scenario.always?.(kube, records);
    } catch (error) {
      violation ??= new Error(`after write ${number} (${text})`, { cause: error });
    }
  };
  const disturb: Disturb = {
    async write(runningProcess, text, effect) {
      const number = writes.push(text);
      const faultKind = 'write' in fault && fault.write === number ? fault.kind : undefined;
      if (faultKind === 'refused') {
        writes[number - 1] = `${text} ${nothingNew}`;
        throw new KubeError(429, 'TooManyRequests', 'the server is overloaded');
      }
      const answer = await effect();
      if (answer === false) writes[number - 1] = `${text} ${nothingNew}`;
      check(number, text);
      if (faultKind === 'crash') {
        runningProcess.kill();
        void processes.push(begin());
        throw new Crash('the process has ended');
      }
      if (faultKind === 'lost answer') throw new Error('the connection was closed');
      return answer;
    },
    event: () => {
      events += 1;
      if ('event' in fault && fault.event === events) return fault.kind === 'cut' ? 'cut' : 'missed';
      return fault.kind === 'duplicates' ? 'twice' : fault.kind === 'stale' ? 'late' : 'pass';
    },
  };
  const begin = () => startLife(scenario, { kube, clock, records, disturb });
  const rest = async (ms: number) => {
    // Short steps first, while the cluster answers; later only the platform's own clocks matter.
    const startedAt = clock.monotonic();
    for (let turn = 1; clock.monotonic() - startedAt < ms; turn++) {
      const remaining = ms - (clock.monotonic() - startedAt);
      await clock.advance(Math.min(remaining, turn <= 5 ? 1_000 : turn <= 10 ? 10_000 : 300_000));
      await scenario.cluster?.(kube);
    }
    await clock.advance(30_000);
  };

  // The resync or the next list finds changes that no watch reported.
  const stepRestMs = fault.kind === 'missed' ? lastRestMs : 60_000;
  processes.push(begin());
  if (fault.kind === 'leaders') processes.push(begin());
  try {
    await rest(stepRestMs);
    for (const step of scenario.steps) {
      await step(kube, records);
      await rest(stepRestMs);
    }
    await rest(lastRestMs);
    const before = writes.length;
    await clock.advance(10 * 60_000);
    if (violation !== undefined) throw violation;
    return {
      state: { objects: snapshot(kube), outcome: scenario.outcome?.(records) },
      writes,
      events,
      restless: writes.slice(before).filter((write) => !write.endsWith(nothingNew)),
    };
  } finally {
    await Promise.all(processes.map((runningProcess) => runningProcess.stop()));
  }
}

/** How many of the writes, and of the events, `npm test` disturbs with each fault. `npm run soak` disturbs them all. */
const samplePerFault = 8;

/**
 * Runs the scenario undisturbed and then with faults at a sample of all places, as subtests of `t`. Each run must end
 * in the same state and write nothing after that. `SVC_SEED` repeats a sample.
 */
export async function explore<Records>(t: Test, name: string, scenario: Scenario<Records>): Promise<void> {
  // A soak has some hundred runs, which take long on a busy machine.
  t.setTimeout(900_000);
  const seed = testSeed();
  const plain = await play(scenario, { kind: 'none' });
  const compare = (t: Test, ended: Ended, what: string) => {
    // One assertion per run keeps the report short; a difference is printed.
    t.same({ state: ended.state, restless: ended.restless }, { state: plain.state, restless: [] }, what);
  };
  await t.test(`${name}: undisturbed (${plain.writes.length} writes, ${plain.events} events)`, async (t) => {
    t.same(plain.restless, [], 'a settled cluster gets no writes');
  });
  const writes = plain.writes.map((text, index) => ({ write: index + 1, text }));
  for (const [index, kind] of (['crash', 'lost answer', 'refused'] as const).entries()) {
    const selected = sample(writes, samplePerFault, seed + index);
    await t.test(`${name}: ${kind} at ${selected.length} of ${writes.length} writes (seed ${seed})`, async (t) => {
      for (const { write, text } of selected) {
        compare(t, await play(scenario, { kind, write }), `${kind} at write ${write}: ${text}`);
      }
    });
  }
  const events = Array.from({ length: plain.events }, (_, index) => index + 1);
  for (const [index, kind] of (['missed', 'cut'] as const).entries()) {
    const selected = sample(events, samplePerFault, seed + 3 + index);
    await t.test(`${name}: ${kind} at ${selected.length} of ${events.length} events (seed ${seed})`, async (t) => {
      for (const event of selected) compare(t, await play(scenario, { kind, event }), `${kind} at event ${event}`);
    });
  }
  for (const kind of ['stale', 'duplicates', 'leaders'] as const) {
    await t.test(`${name}: ${kind}`, async (t) => compare(t, await play(scenario, { kind }), kind));
  }
}

interface RunningLife {
  /** Every call fails from now on. */
  kill(): void;
  stop(): Promise<void>;
}

interface Disturb {
  write<T>(runningProcess: { kill(): void }, text: string, effect: () => Promise<T>): Promise<T>;
  event(): 'pass' | 'missed' | 'cut' | 'twice' | 'late';
}

function startLife<Records>(
  scenario: Scenario<Records>,
  { kube, clock, records, disturb }: { kube: FakeKube; clock: FakeClock; records: Records; disturb: Disturb },
): RunningLife {
  const log = silentLog;
  let dead = false;
  let stopped: Promise<void> | undefined;
  const alive = () => {
    if (dead) throw new Crash('the process has ended');
  };
  const runningProcess: RunningLife = {
    kill() {
      dead = true;
      void runningProcess.stop();
    },
    stop: () => (stopped ??= end()),
  };
  const guarded = guardedKube(kube, clock, runningProcess, alive, disturb);
  const informers = createInformers({ kube: guarded, clock, log, relistMs: watchMs });
  const metrics = createControllerMetrics(new Registry());
  const events = createEventRecorder({ kube: guarded, component: 'svc-controllers', clock, log });
  const definitions = scenario.controllers(
    {
      kube: { ...guarded, cache: informers.cache },
      clock,
      log,
      events,
      write:
        (name, effect) =>
        async (...args) => {
          alive();
          await disturb.write(runningProcess, `record ${name}`, async () => effect(...args));
        },
    },
    records,
  );
  const controllers = definitions.map((definition) =>
    createController({ kube: guarded, definition, informers, metrics, clock, log, resyncMs }),
  );
  for (const controller of controllers) controller.register();
  informers.start();
  const start = async () => {
    await informers.whenSynced();
    for (const controller of controllers) controller.start();
  };
  // It fails when the life ends before.
  const started = start().catch(() => undefined);
  const end = async () => {
    await informers.stop();
    await started;
    await Promise.all(controllers.map((controller) => controller.stop()));
  };
  return runningProcess;
}

/** The client of one life: its writes and watches can be disturbed, and it fails when that life has ended. */
function guardedKube(
  kube: FakeKube,
  clock: Clock,
  runningProcess: RunningLife,
  alive: () => void,
  disturb: Disturb,
): KubeClient {
  const reading = async <T>(call: () => Promise<T>): Promise<T> => {
    alive();
    const answer = await call();
    alive();
    return answer;
  };
  const writing = <T>(verb: FakeCall['verb'], { kind, metadata }: KubeObject, call: () => Promise<T>): Promise<T> =>
    reading(() =>
      // An Event is written at most once a minute, at a random time, and its loss is not a fault.
      kind === 'Event' ? call() : disturb.write(runningProcess, `${verb} ${kind} ${placeOf(metadata)}`, call),
    );
  return {
    get: (kind, name, namespace) => reading(() => kube.get(kind, name, namespace)),
    list: (kind, selection) => reading(() => kube.list(kind, selection)),
    create: (object) => writing('create', object, () => kube.create(object)),
    replace: (object) => writing('replace', object, () => kube.replace(object)),
    replaceStatus: (object) => writing('replaceStatus', object, () => kube.replaceStatus(object)),
    mergePatch: (ref, patch, subresource) =>
      writing('mergePatch', { ...ref, metadata: ref }, () => kube.mergePatch(ref, patch, subresource)),
    delete: (ref, options) => writing('delete', { ...ref, metadata: ref }, () => kube.delete(ref, options)),
    getScale: (namespace, name) => reading(() => kube.getScale(namespace, name)),
    replaceScale: (scale, replicas) => {
      const object = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: scale };
      return writing('replace', object, () => kube.replaceScale(scale, replicas));
    },
    stream: (path, signal) => kube.stream(path, signal),
    watch: (kind, selection, signal) => disturbedWatch(kube, clock, disturb, kind, selection, signal),
  };
}

/** A watch with bookmarks and an end, as the API server's; each event can be disturbed. */
async function* disturbedWatch<T extends KubeObject>(
  kube: FakeKube,
  clock: Clock,
  disturb: Disturb,
  kind: ResourceKind,
  selection: Parameters<KubeClient['watch']>[1],
  signal: AbortSignal,
): AsyncIterable<WatchEvent<T>> {
  const source = kube.watch<T>(kind, selection, signal)[Symbol.asyncIterator]();
  const endsAt = clock.monotonic() + watchMs;
  let { resourceVersion } = selection;
  let next = source.next();
  while (!signal.aborted) {
    const remaining = endsAt - clock.monotonic();
    if (remaining <= 0) return;
    const waiting = new AbortController();
    const idle = clock.sleep(Math.min(bookmarkMs, remaining), AbortSignal.any([signal, waiting.signal])).then(
      () => 'idle' as const,
      () => 'idle' as const,
    );
    const first = await Promise.race([next, idle]);
    waiting.abort();
    if (first === 'idle') {
      const bookmark = { ...kind, metadata: { name: '', resourceVersion } } as unknown as Stored<T>;
      if (!signal.aborted) yield { type: 'BOOKMARK', object: bookmark };
      continue;
    }
    if (first.done) return;
    next = source.next();
    ({ resourceVersion } = first.value.object.metadata);
    const disturbance = disturb.event();
    if (disturbance === 'missed') continue;
    if (disturbance === 'cut') throw new KubeError(410, 'Expired', 'too old resource version');
    if (disturbance === 'late') await clock.sleep(staleMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    yield first.value;
    if (disturbance === 'twice') yield structuredClone(first.value);
  }
}

function placeOf({ namespace, name }: { namespace?: string | undefined; name: string }): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** Every object except Events, without versions, times and uids; an owner is named, and a missing owner is marked. */
function snapshot(kube: FakeKube): Record<string, unknown> {
  const objects = Object.values(kinds)
    .filter(({ kind }) => kind !== 'Event' && kind !== 'Lease')
    .flatMap((kind) => kube.all(kind));
  const owners = new Map(objects.map(({ kind, metadata }) => [metadata.uid, `${kind} ${placeOf(metadata)}`]));
  const plain = ({ kind, metadata, status, ...rest }: Stored<KubeObject>): [string, unknown] => {
    const { generation, ownerReferences = [], ...kept } = metadata;
    for (const chance of ['uid', 'resourceVersion', 'creationTimestamp'] as const) delete (kept as ObjectMeta)[chance];
    const owned = ownerReferences.map((reference) => owners.get(reference.uid) ?? 'a deleted object');
    return [
      `${kind} ${placeOf(metadata)}`,
      {
        ...rest,
        metadata: { ...kept, owned, deleted: kept.deletionTimestamp !== undefined },
        status: timeless(status, generation),
      },
    ];
  };
  return Object.fromEntries(objects.map(plain).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A status without times, and with observed generations reduced to whether they are current. */
function timeless(status: unknown, generation: number | undefined): unknown {
  if (status === undefined) return undefined;
  return JSON.parse(JSON.stringify(status), (key, value: unknown) => {
    if (key === 'lastTransitionTime' || /(At|Timestamp)$/.test(key)) return undefined;
    if (key === 'observedGeneration') return value === generation ? 'current' : 'stale';
    return value;
  }) as unknown;
}

/** An id that is the same in every run, because scenarios must be deterministic. */
export function fixedId(number: number): string {
  return `019a0000-0000-7000-8000-${String(number).padStart(12, '0')}`;
}
