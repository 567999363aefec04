import { isDeepStrictEqual } from 'node:util';
import t, { type Test } from 'tap';
import { createLogServices, logReply } from '../../../runtime/api/log-reply.ts';
import { logLinesQuery, type LogLineView, type LogNotice } from '../../../runtime/contracts/api/logs.ts';
import { systemClock, type Clock } from '../../../runtime/domain/clock.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { podLabels } from '../../../runtime/domain/labels.ts';
import { logTime, withCutMark, type LogRecord } from '../../../runtime/logs/record.ts';
import type { LogReader } from '../../../runtime/logs/log-store.ts';
import { acceleratedClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { seededRandom, type Random } from '../../support/random.ts';
import { soakFactor, testSeed } from '../../support/soak.ts';
import { startServer, startStore } from '../logs/rig.ts';

/*
 * A log is read from pods and from the store. Both have a part of it, and both have some lines: the reader must get each
 * once, in order.
 */

const namespace = 'shop-prod';
const container = 'app';
const start = Math.floor(Date.now() / 1000) * 1000 - 3_000_000;

interface Line {
  pod: string;
  time: string;
  line: string;
}

/** A log at a moment: some pods are gone, the others have the lines of their current container. */
interface World {
  lines: Line[];
  pods: { name: string; startedAt: string; log: Line[] }[];
}

function randomWorld(random: Random): World {
  const world: World = { lines: [], pods: [] };
  const podCount = random.between(1, 5);
  for (let index = 0; index < podCount; index++) {
    const name = `api-${index}`;
    let ms = start + random.between(0, 2_000) * 1_000;
    let startedAt = ms;
    let log: Line[] = [];
    for (let count = random.between(0, 30); count > 0; count--) {
      if (random.chance(0.05)) {
        // The container starts again, and its pod has its new log only.
        ms += 2_000 - (ms % 1_000);
        [startedAt, log] = [ms, []];
      }
      ms += random.pick([0, 0, 1, 7, 900]);
      // Lines can have equal times, and equal texts.
      const line = { pod: name, time: logTime(new Date(ms)), line: random.chance(0.2) ? 'again' : `${name} ${count}` };
      log.push(line);
      world.lines.push(line);
    }
    if (random.chance(0.6)) world.pods.push({ name, startedAt: new Date(startedAt).toISOString(), log });
  }
  return world;
}

async function rig(t: Test, world: World, clock: Clock = systemClock, wrap = (reader: LogReader) => reader) {
  const store = await startStore(t);
  const { client } = await startServer(t, store, { limits: { bytes: 1, ms: 60_000 } });
  const kube = fakeKube();
  const id = newId();
  const labels = podLabels({ kind: 'App', name: 'api', id }, 'serve');
  const addPod = ({ name, startedAt }: World['pods'][number]) =>
    kube.seed({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace, labels },
      spec: { containers: [{ name: container }] },
      status: {
        containerStatuses: [{ name: container, ready: true, restartCount: 0, state: { running: { startedAt } } }],
      },
    });
  world.pods.forEach(addPod);
  let printed = Promise.withResolvers<void>();
  kube.stream = async function* (path, signal) {
    const [, name = ''] = /pods\/([^/]+)\/log/.exec(path) ?? [];
    const log = world.pods.find((pod) => pod.name === name)?.log ?? [];
    const text = (lines: readonly Line[]) => Buffer.from(lines.map(({ time, line }) => `${time} ${line}\n`).join(''));
    let sent = log.length;
    yield text(log);
    if (!path.includes('follow=true') || !signal) return;
    const stopped = new Promise<true>((resolve) => signal.addEventListener('abort', () => resolve(true)));
    while (!(await Promise.race([printed.promise, stopped]))) {
      const more = log.slice(sent);
      sent += more.length;
      yield text(more);
    }
  };
  const source = {
    namespace,
    container,
    labelSelector: `app=api`,
    workload: { kind: 'app' as const, name: 'api', createdAt: new Date(0) },
  };
  const services = createLogServices(wrap(client));
  return {
    kube,
    addPod,
    store: (lines: readonly Line[]) =>
      store.append({
        records: lines.map(({ pod, time, line }): LogRecord => ({
          namespace,
          container,
          pod,
          time,
          line,
          workload: { kind: 'app', name: 'api' },
          stream: 'stdout',
        })),
      }),
    /** A pod prints a line. */
    print(line: Line) {
      world.pods.find(({ name }) => name === line.pod)?.log.push(line);
      printed.resolve();
      printed = Promise.withResolvers();
    },
    reply(query: Record<string, string>, signal: AbortSignal) {
      const access = { kube, clock, logs: services };
      const request = { query: logLinesQuery.parse(query), signal, user: 'user', project: 'shop' };
      return logReply(access, source, request);
    },
  };
}

const byTime = (a: Line, b: Line) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0);
const plain = ({ pod, time, line }: LogLineView): Line => ({ pod, time, line });
/** The order of lines of one time of several pods is open. */
const sorted = (lines: readonly Line[]) => lines.toSorted((a, b) => byTime(a, b) || a.pod.localeCompare(b.pod));

/** What the store has: of pods that are gone everything, of the others a part from the beginning. */
function storedPart(random: Random, { lines, pods }: World): Line[] {
  const left = new Map(pods.map(({ name, log }) => [name, random.between(0, log.length)]));
  return lines.filter((line) => {
    const pod = pods.find(({ name }) => name === line.pod);
    if (!pod || !pod.log.includes(line)) return true;
    return pod.log.indexOf(line) < (left.get(pod.name) ?? 0);
  });
}

async function streamed(
  reply: Awaited<ReturnType<typeof logReply>>,
  isEnd: (item: LogLineView & LogNotice & { end?: true }) => boolean,
): Promise<(LogLineView & LogNotice & { end?: true })[]> {
  const items: (LogLineView & LogNotice & { end?: true })[] = [];
  let rest = '';
  for await (const chunk of reply.body as AsyncIterable<Buffer>) {
    const parts = (rest + chunk.toString()).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts.filter(Boolean)) {
      const item = JSON.parse(part) as (typeof items)[number];
      items.push(item);
      if (isEnd(item)) return items;
    }
  }
  return items;
}

const seed = testSeed();
const range = { sinceTime: new Date(start - 3_600_000).toISOString() };

t.test(`the log of pods and store has each line once, in order (seed ${seed})`, async (t) => {
  const random = seededRandom(seed);
  for (let round = 0; round < 15 * soakFactor(); round++) {
    const world = randomWorld(random);
    const log = await rig(t, world);
    const stored = storedPart(random, world);
    await log.store(stored.toSorted(byTime));
    const stop = new AbortController();

    const read = await log.reply({ ...range, tail: '10000' }, stop.signal);
    const { items } = read.body as { items: LogLineView[] };
    t.same(items.toSorted(byTime), items, 'in order');
    t.same(sorted(items.map(plain)), sorted(world.lines), `round ${round}: read`);

    const all = await streamed(await log.reply({ ...range, all: 'true' }, stop.signal), ({ end }) => end === true);
    t.match(all.at(-1), { end: true, store: 'ok' });
    t.same(sorted(all.slice(0, -1).map(plain)), sorted(world.lines), `round ${round}: all`);
    stop.abort();
  }
});

t.test('a line of which the store has only the beginning is shown once, as the pod has it', async (t) => {
  const time = logTime(new Date(start));
  const long = 'y'.repeat(100_000);
  const log: Line[] = [long, 'short', `${long}2`].map((line) => ({ pod: 'api-0', time, line }));
  const gone: Line = { pod: 'api-gone', time, line: withCutMark('z'.repeat(50_000), 50_000) };
  const world: World = {
    lines: [...log, gone],
    pods: [{ name: 'api-0', startedAt: new Date(start).toISOString(), log }],
  };
  const logs = await rig(t, world);
  const cut = ({ line, ...rest }: Line) => ({
    ...rest,
    line: line.length < 65_536 ? line : withCutMark(line.slice(0, 65_536), 65_536),
  });
  await logs.store([...log.map(cut), gone]);
  const stop = new AbortController();
  const { body } = await logs.reply({ ...range, tail: '10000' }, stop.signal);
  const { items } = body as { items: LogLineView[] };
  t.ok(isDeepStrictEqual(sorted(items.map(plain)), sorted(world.lines)), 'each line once');
  stop.abort();
});

t.test(`a followed log has each line once, also when the store answers late (seed ${seed})`, async (t) => {
  const random = seededRandom(seed);
  for (let round = 0; round < 8 * soakFactor(); round++) {
    const world = randomWorld(random);
    const outage = random.pick(['none', 'refuses', 'hangs', 'breaks'] as const);
    let isDown = outage !== 'none';
    const up = Promise.withResolvers<void>();
    // The pauses are short; the time that the store has is not, since this machine may be slow.
    const clock = acceleratedClock(200);
    const patient = { ...clock, monotonic: () => systemClock.monotonic() };
    const log = await rig(t, world, outage === 'hangs' ? clock : patient, (reader) => ({
      async read(query, signal) {
        if (isDown && outage === 'hangs') await up.promise;
        if (isDown && outage === 'refuses') throw new Error('down');
        const { keptSince, batches } = await reader.read(query, signal);
        if (!isDown) return { keptSince, batches };
        return {
          keptSince,
          batches: (async function* () {
            const first = await batches.next();
            if (!first.done) yield first.value.slice(0, 1);
            throw new Error('broken');
          })(),
        };
      },
    }));
    await log.store(storedPart(random, world));
    const stop = new AbortController();
    const reply = await log.reply({ ...range, follow: 'true' }, stop.signal);
    const name = 'api-new';
    const late = ['first', 'last'].map((line, index) => ({
      pod: name,
      time: logTime(new Date(Date.now() + 5_000 + index)),
      line,
    }));
    const seen: string[] = [];
    let isAdded = false;
    const items = await streamed(reply, (item) => {
      if (item.store !== undefined) seen.push(item.store);
      // The pod starts while the log is followed; the store, which is late, has its lines, too.
      if (!isAdded && (outage === 'none' || item.store === 'unavailable')) {
        isAdded = true;
        const pod = { name, startedAt: new Date().toISOString(), log: late.slice(0, 1) };
        world.pods.push(pod);
        log.addPod(pod);
      }
      if (item.line === 'first') {
        isDown = false;
        void log.store(late).then(() => up.resolve());
        if (outage === 'none') log.print(late[1] as Line);
      }
      if (item.store === 'ok') log.print(late[1] as Line);
      return item.line === 'last';
    }).finally(() => stop.abort());
    if (outage === 'none' && !isAdded) continue;
    const lines = items.filter(({ line }) => line !== undefined);
    t.same(sorted(lines.map(plain)), sorted([...world.lines, ...late]), `round ${round}: ${outage}`);
    t.same(seen, outage === 'none' ? [] : ['unavailable', 'ok'], outage);
    for (const pod of new Set(lines.map((line) => line.pod))) {
      const ofPod = lines.filter((line) => line.pod === pod && line.late === undefined);
      t.same(ofPod.toSorted(byTime), ofPod, 'in order');
    }
  }
});
