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

/**
 * State-space tests in the manner of Sieve (https://www.usenix.org/conference/osdi22/presentation/sun): the same story is
 * told once undisturbed, and then again with one fault at every place where there can be one. The end must be the same.
 */
export interface Scenario<Records> {
  /** Puts the first objects there; the answer holds what the controllers keep outside Kubernetes. Called per run. */
  begin(kube: FakeKube): Records;
  /** The controllers of one process life, made anew after every crash: what they hold in memory is lost then. */
  // oxlint-disable-next-line typescript/no-explicit-any -- each is of a kind of its own
  controllers(life: Life, records: Records): ControllerDefinition<any>[];
  /** What people do, one after the other; the controllers come to rest after each. Must not depend on chance. */
  steps: readonly ((kube: FakeKube, records: Records) => Promise<unknown>)[];
  /** What Kubernetes' own controllers would do now; called every few seconds. The calls it makes are never disturbed. */
  cluster?(kube: FakeKube): Promise<void>;
  /** What counts of the records at the end, besides every object but Events. */
  outcome?(records: Records): unknown;
  /** Called after every write; throws when something is so that must never be. */
  always?(kube: FakeKube, records: Records): void;
}

/** What the controllers of one process life may use; all of it fails once that life has ended. */
export interface Life {
  kube: KubeClient;
  clock: Clock;
  log: Logger;
  events: EventRecorder;
  /** Makes a write that does not go to Kubernetes one of those that faults can hit; `false` says that nothing was new. */
  write: <A extends unknown[]>(name: string, effect: (...args: A) => unknown) => (...args: A) => Promise<void>;
}

/**
 * One fault. `write` and `event` count from 1.
 * - `crash`: the process ends right after the write took effect, and another starts.
 * - `lost answer`: the write takes effect, and its answer never comes.
 * - `refused`: the API server is overloaded (429) and does nothing.
 * - `missed`: the watch leaves an event out without a sign; it lists again only when the informer wants to.
 * - `cut`: instead of the event comes the end of the watch, with 410: what happened meanwhile is seen at once or not at all.
 * - `duplicates`: every event comes twice. `stale`: every event comes 20 s late. `leaders`: two processes work at once.
 */
export type Fault =
  | { kind: 'none' | 'duplicates' | 'stale' | 'leaders' }
  | { kind: 'crash' | 'lost answer' | 'refused'; write: number }
  | { kind: 'missed' | 'cut'; event: number };

/** How a run ended. */
export interface Ended {
  /** Every object but Events by `kind namespace/name`, without what chance decides, and the scenario's outcome. */
  state: unknown;
  /** What the controllers wrote, in order, as `verb Kind namespace/name`. */
  writes: string[];
  /** How many events their watches brought. */
  events: number;
  /** What the controllers still wrote after everything had come to rest. */
  restless: string[];
}

const staleMs = 20_000;
const nothingNew = '(nothing new)';
const bookmarkMs = 120_000;
const watchMs = 300_000;
/** Shorter than in production, so that a run has fewer minutes. */
const resyncMs = 300_000;
/** Longer than a resync with its jitter, and than the time after which an informer lists again. */
const lastRestMs = 11 * 60_000;

class Crash extends Error {
  override readonly name = 'Crash';
}

/** Tells the scenario once with the fault. @throws what `always` throws */
export async function play<Records>(scenario: Scenario<Records>, fault: Fault): Promise<Ended> {
  const clock = fakeClock();
  const kube = fakeKube({ checkNamespaces: true, now: () => clock.now() });
  const records = scenario.begin(kube);
  const writes: string[] = [];
  let events = 0;
  let violation: unknown;
  const lives: RunningLife[] = [];

  const check = (number: number, text: string) => {
    try {
      scenario.always?.(kube, records);
    } catch (error) {
      violation ??= new Error(`after write ${number} (${text})`, { cause: error });
    }
  };
  const disturb: Disturb = {
    async write(life, text, effect) {
      const number = writes.push(text);
      const here = 'write' in fault && fault.write === number ? fault.kind : undefined;
      if (here === 'refused') {
        writes[number - 1] = `${text} ${nothingNew}`;
        throw new KubeError(429, 'TooManyRequests', 'the server is overloaded');
      }
      const answer = await effect();
      if (answer === false) writes[number - 1] = `${text} ${nothingNew}`;
      check(number, text);
      if (here === 'crash') {
        life.kill();
        void lives.push(begin());
        throw new Crash('the process has ended');
      }
      if (here === 'lost answer') throw new Error('the connection was closed');
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
    // Seconds first, when the cluster answers; later only the platform's own clocks matter.
    const begun = clock.monotonic();
    for (let turn = 1; clock.monotonic() - begun < ms; turn++) {
      const left = ms - (clock.monotonic() - begun);
      await clock.advance(Math.min(left, turn <= 5 ? 1_000 : turn <= 10 ? 10_000 : 300_000));
      await scenario.cluster?.(kube);
    }
    await clock.advance(30_000);
  };

  // What no watch told is found by the resync or the next list.
  const stepRestMs = fault.kind === 'missed' ? lastRestMs : 60_000;
  lives.push(begin());
  if (fault.kind === 'leaders') lives.push(begin());
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
    await Promise.all(lives.map((life) => life.stop()));
  }
}

/**
 * Tells the scenario undisturbed and then with every fault there can be, as subtests of `t`: the same end state, and
 * nothing written once it is reached.
 */
export async function explore<Records>(t: Test, name: string, scenario: Scenario<Records>): Promise<void> {
  // Some hundred runs; a busy machine needs its time.
  t.setTimeout(900_000);
  const plain = await play(scenario, { kind: 'none' });
  const compare = (t: Test, ended: Ended, what: string) => {
    // One assertion a run keeps the report short; the difference is shown when there is one.
    t.same({ state: ended.state, restless: ended.restless }, { state: plain.state, restless: [] }, what);
  };
  await t.test(`${name}: undisturbed (${plain.writes.length} writes, ${plain.events} events)`, async (t) => {
    t.same(plain.restless, [], 'a settled world is left alone');
  });
  for (const kind of ['crash', 'lost answer', 'refused'] as const) {
    await t.test(`${name}: ${kind} at every write`, async (t) => {
      for (const [index, write] of plain.writes.entries()) {
        compare(t, await play(scenario, { kind, write: index + 1 }), `${kind} at write ${index + 1}: ${write}`);
      }
    });
  }
  for (const kind of ['missed', 'cut'] as const) {
    await t.test(`${name}: ${kind} at every event`, async (t) => {
      for (let event = 1; event <= plain.events; event++) {
        compare(t, await play(scenario, { kind, event }), `${kind} at event ${event}`);
      }
    });
  }
  for (const kind of ['stale', 'duplicates', 'leaders'] as const) {
    await t.test(`${name}: ${kind}`, async (t) => compare(t, await play(scenario, { kind }), kind));
  }
}

interface RunningLife {
  /** Everything fails from now on. */
  kill(): void;
  stop(): Promise<void>;
}

interface Disturb {
  write<T>(life: { kill(): void }, text: string, effect: () => Promise<T>): Promise<T>;
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
  const life: RunningLife = {
    kill() {
      dead = true;
      void life.stop();
    },
    stop: () => (stopped ??= end()),
  };
  const guarded = guardedKube(kube, clock, life, alive, disturb);
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
          await disturb.write(life, `record ${name}`, async () => effect(...args));
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
  return life;
}

/** The client of one life: its writes and watches can be disturbed, and it fails when that life has ended. */
function guardedKube(kube: FakeKube, clock: Clock, life: RunningLife, alive: () => void, disturb: Disturb): KubeClient {
  const reading = async <T>(call: () => Promise<T>): Promise<T> => {
    alive();
    const answer = await call();
    alive();
    return answer;
  };
  const writing = <T>(verb: FakeCall['verb'], { kind, metadata }: KubeObject, call: () => Promise<T>): Promise<T> =>
    reading(() =>
      // An event is a courtesy and comes at most once a minute: its loss is no fault, and chance decides when it comes.
      kind === 'Event' ? call() : disturb.write(life, `${verb} ${kind} ${placeOf(metadata)}`, call),
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

/** A watch with bookmarks and an end, as the API server's; what its events suffer is decided one by one. */
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
    const left = endsAt - clock.monotonic();
    if (left <= 0) return;
    const waiting = new AbortController();
    const idle = clock.sleep(Math.min(bookmarkMs, left), AbortSignal.any([signal, waiting.signal])).then(
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
    const fate = disturb.event();
    if (fate === 'missed') continue;
    if (fate === 'cut') throw new KubeError(410, 'Expired', 'too old resource version');
    if (fate === 'late') await clock.sleep(staleMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    yield first.value;
    if (fate === 'twice') yield structuredClone(first.value);
  }
}

function placeOf({ namespace, name }: { namespace?: string | undefined; name: string }): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** Every object but Events, without versions, times and uids; an owner is named, and one that is gone shows. */
function snapshot(kube: FakeKube): Record<string, unknown> {
  const objects = Object.values(kinds)
    .filter(({ kind }) => kind !== 'Event' && kind !== 'Lease')
    .flatMap((kind) => kube.all(kind));
  const owners = new Map(objects.map(({ kind, metadata }) => [metadata.uid, `${kind} ${placeOf(metadata)}`]));
  const plain = ({ kind, metadata, status, ...rest }: Stored<KubeObject>): [string, unknown] => {
    const { generation, ownerReferences = [], ...kept } = metadata;
    for (const chance of ['uid', 'resourceVersion', 'creationTimestamp'] as const) delete (kept as ObjectMeta)[chance];
    const owned = ownerReferences.map((reference) => owners.get(reference.uid) ?? 'somebody who is gone');
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

/** A status whose times are gone and whose observed generations say whether they are current. */
function timeless(status: unknown, generation: number | undefined): unknown {
  if (status === undefined) return undefined;
  return JSON.parse(JSON.stringify(status), (key, value: unknown) => {
    if (key === 'lastTransitionTime' || /(At|Timestamp)$/.test(key)) return undefined;
    if (key === 'observedGeneration') return value === generation ? 'current' : 'stale';
    return value;
  }) as unknown;
}

/** An id that is the same in every run: scenarios must not depend on chance. */
export function fixedId(number: number): string {
  return `019a0000-0000-7000-8000-${String(number).padStart(12, '0')}`;
}
