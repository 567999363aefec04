import { mkdir, readFile, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import type { Clock } from '../domain/clock.ts';
import { createPeriodicTask } from '../process/periodic-task.ts';
import { encodeBlocks } from './block.ts';
import { isDiskFull, syncFolder, systemDisk, withFile, type Disk } from './disk.ts';
import { partsOf, readFeed, type Group } from './feed.ts';
import { createFlushLog, type FlushPart } from './flush-log.ts';
import { idsOf, openJournal, readJournal, type Journal, type JournalEntry } from './journal.ts';
import {
  BatchTooLarge,
  StoreBusy,
  type DropReason,
  type LogBatch,
  type LogCursor,
  type LogStore,
  type ReadBudget,
} from './log-store.ts';
import type { LogQuery } from './query.ts';
import { logTime, parseRecord, type LogRecord, type StoredLine } from './record.ts';
import { appendBlocks } from './segment.ts';
import { createSegmentIndex, hourOf } from './segment-index.ts';
import { byTime, memorySources, mergeSources, segmentSources, type ReadProgress } from './segment-reader.ts';
import { namespacesOf } from './store-status.ts';
import { cleanState, emptyState, formatState, parseState, type StoreState } from './store-state.ts';
import { createTurns } from './turns.ts';

export interface LogStoreOptions {
  folder: string;
  clock: Clock;
  log: Logger;
  /** Maximum bytes of the segments. */
  maxBytes: number;
  /** Default 72. */
  retentionHours?: number;
  /** Waits until the disk has stored a batch before it is acknowledged; default true. */
  sync?: boolean;
  /** Characters of lines in memory after which they are written to segments; default 8 Mi. */
  flushLength?: number;
  /** Characters of lines in memory beyond which the store takes no more; default 24 Mi. */
  bufferLength?: number;
  disk?: Disk;
}

/** Lines in memory are written to segments after this time at the latest. */
const flushMs = 300_000;
const cleanMs = 60_000;
/** While the disk is full, segments are deleted this often. */
const relieveMs = 300_000;
const replayAttempts = 20;
/** Lines may be this much in the future, because the clocks of nodes differ. */
const futureMs = 600_000;
const hourMs = 3_600_000;

interface Buffer {
  generation: number;
  /** The id of its first line. */
  first: number;
  journal: Journal;
  groups: Map<string, Group>;
  length: number;
  since: number;
}

export function createLogStore(options: LogStoreOptions): LogStore {
  const { folder, clock, log, maxBytes, retentionHours = 72, sync = true, disk = systemDisk } = options;
  const { flushLength = 8 * 1024 * 1024, bufferLength = 24 * 1024 * 1024 } = options;
  const index = createSegmentIndex(join(folder, 'segments'), maxBytes);
  const flushes = createFlushLog(join(folder, 'flushes'));
  const stateFile = join(folder, 'state.json');
  const journalFile = (generation: number) => join(folder, `journal-${generation}`);
  const dropped: Record<DropReason, number> = { invalid: 0, expired: 0, disk_full: 0 };
  /** Segments that were written by this process, so that their end is intact. */
  const checked = new Set<string>();
  let state: StoreState = emptyState(clock.now());
  let active: Buffer | undefined;
  /** `last` is the id of its last line. */
  let flushing: (Omit<Buffer, 'journal'> & { last: number; parts: FlushPart[] }) | undefined;
  let diskFull = false;
  /** When segments were last deleted because the disk is full. */
  let relievedAt: number | undefined;
  let isFlushQueued = false;
  const inAppendTurn = createTurns();
  const inFlushTurn = createTurns();

  const openBuffer = async (generation: number): Promise<Buffer> => ({
    generation,
    first: state.next,
    journal: await openJournal(journalFile(generation), { sync, disk }),
    groups: new Map(),
    length: 0,
    since: clock.monotonic(),
  });

  const collect = (groups: Map<string, Group>, { first, records }: Pick<JournalEntry, 'first' | 'records'>) => {
    let length = 0;
    for (const [position, { namespace, workload, pod, container, time, stream, line }] of records.entries()) {
      const key = { namespace, kind: workload.kind, name: workload.name, hour: hourOf(time) };
      const path = `${namespace}/${key.kind}/${key.name}/${key.hour}`;
      const group = groups.get(path) ?? { ...key, lines: [] };
      groups.set(path, group);
      group.lines.push({ id: first + position, time, pod, container, stream, line });
      // An object takes about this much besides its text.
      length += line.length + 200;
    }
    return length;
  };

  const writeState = async () => {
    const temporary = `${stateFile}.new`;
    await withFile(temporary, 'w', async (file) => {
      await file.writeFile(formatState(state));
      if (sync) await file.sync();
    });
    await rename(temporary, stateFile);
    if (sync) await syncFolder(folder);
  };

  /** Writes lines to their segments. A group leaves the memory at the moment at which its segment has it. */
  const writeGroups = async (generation: number, groups: Map<string, Group>, isRepeated: boolean) => {
    for (const [key, group] of groups) {
      const segment = index.at(group);
      const blocks = await encodeBlocks(group.lines.toSorted(byTime), generation);
      await mkdir(dirname(segment.path), { recursive: true, mode: 0o700 });
      const check = isRepeated || !checked.has(segment.path);
      const size = await appendBlocks(segment.path, blocks, { generation, check, sync, disk });
      checked.add(segment.path);
      index.store(segment, size);
      groups.delete(key);
    }
  };

  const finishGeneration = async (flush: { generation: number; first: number; last: number; parts: FlushPart[] }) => {
    const { generation, first, last, parts } = flush;
    if (state.fedAt !== undefined) await flushes.add({ generation, first, last, at: clock.now().getTime() }, parts);
    state.generation = generation + 1;
    await writeState();
    await rm(journalFile(generation), { force: true });
  };

  /** Begins a new buffer. Between appends, because a line must be in the journal of the buffer that has it. */
  const exchangeBuffer = async () => {
    if (!active || active.groups.size === 0) return;
    const following = await openBuffer(active.generation + 1);
    const { journal, ...rest } = active;
    flushing = { ...rest, last: following.first - 1, parts: partsOf(rest.groups.values()) };
    active = following;
    await journal.close();
  };

  const flush = async (): Promise<void> => {
    isFlushQueued = false;
    const isRepeated = flushing !== undefined;
    if (!flushing) await inAppendTurn(exchangeBuffer);
    if (!flushing) return;
    await writeGroups(flushing.generation, flushing.groups, isRepeated);
    await finishGeneration(flushing);
    flushing = undefined;
    diskFull = false;
    await clean();
  };
  const flushInTurn = () => {
    isFlushQueued = true;
    return inFlushTurn(() => flush().catch(handleWriteFailure));
  };

  const handleWriteFailure = async (failure: unknown): Promise<void> => {
    if (!isDiskFull(failure)) {
      log.error({ err: failure }, 'log store write failed');
      return;
    }
    if (!diskFull) log.error({ bytes: index.bytes() }, 'the disk of the log store is full');
    diskFull = true;
    if (relievedAt !== undefined && clock.monotonic() - relievedAt < relieveMs) return;
    relievedAt = clock.monotonic();
    // Makes some room with the store's own oldest lines. Not all of them: others may have filled the disk.
    try {
      await evict(Math.floor(index.cost() * 0.9));
    } catch (error) {
      log.error({ err: error }, 'eviction failed');
    }
  };

  const evict = async (most: number) => {
    const evicted = await index.evict(most);
    for (const { namespace, hour, size, path } of evicted) {
      const entry = state.namespaces.get(namespace) ?? { evictedBytes: 0, keptSince: '' };
      state.namespaces.set(namespace, entry);
      entry.evictedBytes += size;
      const end = logTime(new Date(Date.parse(`${hour}:00:00Z`) + hourMs));
      if (end > entry.keptSince) entry.keptSince = end;
      checked.delete(path);
    }
    if (evicted.length === 0) return;
    log.warn({ segments: evicted.length }, 'the log store is full; its oldest lines are deleted');
    await writeState();
  };

  const keptFrom = () => new Date(clock.now().getTime() - retentionHours * hourMs);
  const clean = async () => {
    const before = hourOf(keptFrom().toISOString());
    await index.expire(before);
    await evict(maxBytes);
    for (const path of checked) if (path.slice(-23, -10) < before) checked.delete(path);
    cleanState(state, before);
    await flushes.clean(state.fedAt === undefined ? Infinity : keptFrom().getTime());
  };

  const recover = async () => {
    const generations = (await readdir(folder))
      .flatMap((name) => /^journal-(\d{1,15})$/.exec(name)?.[1] ?? [])
      .map(Number)
      .toSorted((a, b) => a - b);
    // Without the state, every journal may hold lines that no segment has; lines of segments are not written again.
    const [oldest] = generations;
    const initial = emptyState(clock.now());
    state =
      parseState(await readFile(stateFile, 'utf8').catch(() => '')) ??
      (oldest === undefined ? initial : { ...initial, generation: oldest });
    for (const generation of generations) {
      if (generation >= state.generation) await replay(generation);
      else await rm(journalFile(generation), { force: true });
    }
  };

  /** Writes the lines of a journal, of which an earlier process may have written some, to the segments. */
  const replay = async (generation: number) => {
    const groups = new Map<string, Group>();
    const warn = (err: unknown) => log.error({ err, generation }, 'a batch in a journal is unreadable');
    const entries = await readJournal(journalFile(generation), warn);
    for (const entry of entries) {
      collect(groups, entry);
      state.next = Math.max(state.next, entry.first + entry.records.length);
      if (entry.shipper) remember(entry.shipper);
    }
    const flush = { generation, ...idsOf(entries, state.next), parts: partsOf(groups.values()) };
    for (let attempt = 1; ; attempt++) {
      try {
        await writeGroups(generation, groups, true);
        await finishGeneration(flush);
        return;
      } catch (error) {
        if (!isDiskFull(error) || attempt === replayAttempts) throw error;
        await evict(Math.floor(index.cost() * 0.9));
      }
    }
  };

  const remember = ({ name, sequence }: { name: string; sequence: number }) => {
    state.shippers.set(name, { sequence, seen: clock.now().toISOString() });
  };

  /** Leaves out what cannot be kept. */
  const accept = (records: readonly unknown[]): LogRecord[] => {
    const [oldest, newest] = [logTime(keptFrom()), logTime(new Date(clock.now().getTime() + futureMs))];
    return records.flatMap((value) => {
      const record = parseRecord(value);
      if (!record) dropped.invalid += 1;
      else if (record.time < oldest || record.time > newest) dropped.expired += 1;
      else return [record];
      return [];
    });
  };

  const append = async ({ shipper, records }: LogBatch): Promise<void> => {
    if (!active) throw new StoreBusy('stopped');
    if (shipper && shipper.sequence <= (state.shippers.get(shipper.name)?.sequence ?? 0)) return;
    if (active.length + (flushing?.length ?? 0) > bufferLength) {
      throw new StoreBusy(diskFull ? 'disk_full' : 'behind');
    }
    const entry = { first: state.next, ...(shipper && { shipper }), records: accept(records) };
    if (entry.records.length > 0 || shipper) {
      try {
        await active.journal.append(entry);
      } catch (error) {
        if (error instanceof BatchTooLarge) throw error;
        await handleWriteFailure(error);
        throw new StoreBusy('disk_full');
      }
    }
    state.next += entry.records.length;
    if (shipper) remember(shipper);
    active.length += collect(active.groups, entry);
    if (active.length >= flushLength && !flushing && !isFlushQueued) void flushInTurn();
  };

  const periodic = (pauseMs: number, run: () => Promise<void>) => {
    const onError = (err: unknown) => log.debug({ err }, 'log store task failed');
    return createPeriodicTask({ clock, run, pauseMs: () => pauseMs, pauseFirst: true, onError });
  };
  const tasks = [
    periodic(flushMs, flushInTurn),
    periodic(cleanMs, async () => {
      await clean();
      // A flush that failed is tried again.
      if (flushing) await flushInTurn();
    }),
  ];

  /** The sources of one hour, all of one moment: a line is either in memory or in its segment. */
  const sourcesOf = async (query: LogQuery, hour: string, budget: ReadBudget | undefined) => {
    const { namespace, kind, name } = query;
    const segment = index.at({ namespace, kind, name, hour });
    const { path, size } = segment;
    const key = `${namespace}/${kind}/${name}/${hour}`;
    const memory = [flushing?.groups.get(key), active?.groups.get(key)].flatMap((group) => group?.lines ?? []).slice();
    const sources = memorySources(memory, query, budget);
    return [...(size === 0 ? [] : await segmentSources(path, size, query, budget)), ...sources];
  };

  async function* readBatches(
    query: LogQuery,
    signal: AbortSignal,
    budget: ReadBudget | undefined,
  ): AsyncGenerator<StoredLine[], LogCursor | undefined> {
    const { direction, limit = Infinity, namespace, kind, name, after } = query;
    const isForward = direction === 'forward';
    const first = hourOf(after && isForward && after.time > query.from ? after.time : query.from);
    const last = hourOf(after && !isForward && after.time < query.to ? after.time : query.to);
    const prefix = `${namespace}/${kind}/${name}/`;
    const inMemory = [flushing, active].flatMap((buffer) => [...(buffer?.groups.values() ?? [])]);
    const hours = new Set([
      ...index.of(query).map(({ hour }) => hour),
      ...inMemory
        .filter((group) => `${group.namespace}/${group.kind}/${group.name}/` === prefix)
        .map(({ hour }) => hour),
    ]);
    const sorted = [...hours].filter((hour) => hour >= first && hour <= last).toSorted();
    if (!isForward) sorted.reverse();
    let left = limit;
    const progress: ReadProgress = { budget, hasBegun: false };
    for (const hour of sorted) {
      const merged = mergeSources(await sourcesOf(query, hour, budget), query, signal, progress);
      for (let next = await merged.next(); ; next = await merged.next()) {
        if (next.done) {
          if (next.value) return next.value;
          break;
        }
        yield next.value.length > left ? next.value.slice(0, left) : next.value;
        left -= next.value.length;
        if (left <= 0) return undefined;
      }
    }
    return undefined;
  }

  return {
    async start() {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await index.load();
      await flushes.load();
      await recover();
      active = await openBuffer(state.generation);
      await clean();
      for (const task of tasks) task.start();
    },
    async stop() {
      await Promise.all(tasks.map((task) => task.stop()));
      await flushInTurn();
      await inAppendTurn(async () => {
        const last = active;
        active = undefined;
        await last?.journal.close();
      });
    },
    append: (batch) => inAppendTurn(() => append(batch)),
    read: async (query, signal, budget) => ({
      keptSince: [logTime(keptFrom()), state.namespaces.get(query.namespace)?.keptSince ?? ''].toSorted().at(-1) ?? '',
      batches: readBatches(query, signal, budget),
    }),
    async feed(position) {
      if (!active) throw new StoreBusy('stopped');
      const isNew = state.fedAt === undefined;
      state.fedAt = clock.now().toISOString();
      // From now on, flushes are recorded, also after a kill.
      if (isNew) await inFlushTurn(writeState);
      return readFeed(position, {
        identity: state.identity,
        next: state.next,
        memory: { first: active.first, groups: active.groups.values() },
        flushing: flushing?.first,
        flushes,
        segment: (key) => index.at(key),
      });
    },
    clean,
    countDropped: (reason, lines) => void (dropped[reason] += lines),
    isReady: () => active !== undefined,
    status: () => ({
      bytes: index.bytes(),
      maxBytes,
      retentionHours,
      diskFull,
      dropped: { ...dropped },
      namespaces: namespacesOf(index.all(), state),
    }),
  };
}
