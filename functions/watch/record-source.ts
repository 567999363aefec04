import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import type { Change } from './feed.ts';
import {
  readEventStates,
  readGateStates,
  readRecordStates,
  type RecordState,
  type WatchedEnvironment,
} from './record-states.ts';

/** Interval of the reads, in ms. */
const everyMs = 500;
/** The reads take at most this part of the time, so that a slow database is not made slower. */
const shareMax = 0.2;
/** Each third read also reads the numbers of events, which takes longest. */
const eventsEvery = 3;

/** What is watched now. */
export interface Watched {
  /** The environments of each project with a feed. */
  projects: ReadonlyMap<Id, readonly WatchedEnvironment[]>;
  /** The users with a stream. */
  users: readonly Id[];
}

/** Reads what PostgreSQL has about projects, again and again while a stream is open. */
export interface RecordSource {
  /** Resolves once a read that began after the call has ended. */
  read(): Promise<void>;
  stop(): Promise<void>;
}

interface RecordSourceOptions {
  pool: Pool;
  clock: Clock;
  log: Logger;
  watched: () => Watched;
  onChange: (projectId: Id, change: Change) => void;
  /** The role or state of a user has changed. */
  onUser: (userId: Id) => void;
}

/** The states of one group of rows at its last read, by project and row. */
type States = Map<Id, Map<string, RecordState>>;

/**
 * Compares the states of rows with those of the read before. Triggers and NOTIFY would cost every writer, even while
 * nothing is watched (docs/decisions/0067-event-stream.md).
 */
export function createRecordSource(options: RecordSourceOptions): RecordSource {
  const { pool, clock, log, watched, onChange, onUser } = options;
  const stopping = new AbortController();
  const groups = { records: new Map() as States, gate: new Map() as States, events: new Map() as States };
  let users = new Map<Id, string>();
  let gateVersion = '';
  let count = 0;
  let waiting: PromiseWithResolvers<void>[] = [];
  let awake = new AbortController();
  let running: Promise<void> | undefined;
  let failures = 0;

  /** Reports what differs from the last read, except for projects that were not read then. */
  const compare = (states: States, projects: Watched['projects'], rows: readonly RecordState[]) => {
    const current: States = new Map([...projects.keys()].map((id) => [id, new Map()]));
    for (const row of rows) current.get(row.projectId)?.set([row.kind, row.environment, row.name].join('\n'), row);
    for (const [projectId, rowsNow] of current) {
      const before = states.get(projectId);
      states.set(projectId, rowsNow);
      if (!before) continue;
      for (const [key, row] of rowsNow) {
        const old = before.get(key);
        if (old?.version !== row.version || old.id !== row.id) onChange(projectId, changeOf(row, old));
      }
      for (const [key, row] of before) if (!rowsNow.has(key)) onChange(projectId, changeOf(row, row));
    }
    for (const id of states.keys()) if (!projects.has(id)) states.delete(id);
  };

  const readAll = async () => {
    const { projects, users: userIds } = watched();
    const environments = [...projects.values()].flat();
    const isNew = [...projects.keys()].some((id) => !groups.records.has(id));
    const {
      records,
      users: usersNow,
      gate,
    } = await readRecordStates(pool, [...projects.keys()], environments, userIds);
    // Read before the rows that it counts, so that a change in between is found by the next read.
    if (isNew || gate !== gateVersion) {
      compare(groups.gate, projects, await readGateStates(pool, environments));
      gateVersion = gate;
    }
    if (isNew || count++ % eventsEvery === 0) {
      compare(groups.events, projects, await readEventStates(pool, environments));
    }
    compare(groups.records, projects, records);
    for (const [id, version] of usersNow) if (users.has(id) && users.get(id) !== version) onUser(id);
    for (const id of users.keys()) if (!usersNow.has(id) && userIds.includes(id)) onUser(id);
    users = usersNow;
  };

  const run = async () => {
    while (!stopping.signal.aborted && watched().projects.size > 0) {
      const served = waiting;
      waiting = [];
      awake = new AbortController();
      const startedAt = clock.monotonic();
      try {
        await readAll();
        failures = 0;
        for (const { resolve } of served) resolve();
      } catch (error) {
        failures += 1;
        if (failures === 1) log.warn({ err: error }, 'reading changes failed');
        for (const { reject } of served) reject(error);
      }
      const pause = Math.max(everyMs, (clock.monotonic() - startedAt) * (1 / shareMax - 1));
      if (waiting.length === 0) {
        await clock.sleep(pause, AbortSignal.any([stopping.signal, awake.signal])).catch(() => undefined);
      }
    }
    running = undefined;
    for (const states of Object.values(groups)) states.clear();
    for (const { reject } of waiting) reject(new Error('the source has stopped'));
  };

  return {
    async read() {
      const read = Promise.withResolvers<void>();
      waiting.push(read);
      awake.abort();
      running ??= run();
      await read.promise;
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

function changeOf({ kind, environment, name, id }: RecordState, old: RecordState | undefined): Change {
  const isNew = id !== null && old?.id !== id;
  return {
    type: isNew ? 'added' : 'modified',
    kind,
    ...(environment !== null && { environment }),
    ...(name !== null && { name }),
    ...(id !== null && { id }),
  };
}
