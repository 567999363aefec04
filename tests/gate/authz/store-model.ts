import {
  continues,
  type AppRow,
  type Changes,
  type ChangesQuestion,
  type GateSession,
  type GateStore,
  type Head,
  type KeyRow,
  type OthersRow,
  type PlanRow,
  type UsageColumns,
  type UsageQuestion,
} from '../../../gate/authz/gate-store.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { newId, type Id } from '../../../runtime/domain/ids.ts';
import { rowsOf } from './usage-columns.ts';

/** One row of usage, absolute counts. */
interface UsageRow {
  keyId: Id;
  day: string;
  incarnation: Id;
  allowed: number;
  rateDenied: number;
  quotaDenied: number;
  version: number;
}

interface ReplicaRow {
  seenAt: number;
  flushes: number;
  closed: boolean;
  folded: boolean;
}

/** The whole content of the store; plain data, so that an older copy is a clone. */
export interface StoreState {
  feedId: Id;
  feedVersion: number;
  changes: Map<number, { entity: 'plan' | 'key' | 'app'; id: Id; token: string }>;
  plans: Map<Id, PlanRow>;
  keys: Map<Id, KeyRow>;
  apps: Map<Id, AppRow>;
  usageVersion: number;
  usageMarks: Map<number, string>;
  usage: Map<string, UsageRow>;
  replicas: Map<Id, ReplicaRow>;
}

/** A replica's link to the store. */
export interface Link {
  /** How long a message takes one way, in ms. */
  latency: number;
  /** While it hangs, new messages wait for ever; messages on their way arrive, but their answers do not. */
  hanging: boolean;
  /** Cuts every connection: waiting calls fail, even if the store has already done the work. */
  cut(): void;
}

const folded: Id = '00000000-0000-0000-0000-000000000000';

/** The PostgreSQL store's rules, in memory and in one place, for the simulation. */
export function storeModel(clock: Clock) {
  let state: StoreState = {
    feedId: newId(),
    feedVersion: 0,
    usageVersion: 0,
    changes: new Map(),
    plans: new Map(),
    keys: new Map(),
    apps: new Map(),
    usageMarks: new Map(),
    usage: new Map(),
    replicas: new Map(),
  };

  const change = (entity: 'plan' | 'key' | 'app', id: Id) => {
    state.feedVersion++;
    state.changes.set(state.feedVersion, { entity, id, token: newId() });
    for (const notify of listeners) notify();
  };
  const listeners = new Set<() => void>();

  const nextUsageVersion = () => {
    state.usageVersion++;
    state.usageMarks.set(state.usageVersion, newId());
    state.usageMarks.delete(state.usageVersion - 10_000);
    return state.usageVersion;
  };

  const head = (
    since: { feed: { version: number }; usage: { version: number } } | undefined,
    incarnation: Id,
  ): Head => {
    const replica = state.replicas.get(incarnation);
    return {
      primary: true,
      position: {
        feed: {
          feedId: state.feedId,
          version: state.feedVersion,
          token: state.changes.get(state.feedVersion)?.token ?? null,
        },
        usage: { version: state.usageVersion, token: state.usageMarks.get(state.usageVersion) ?? null },
      },
      tokensThere: {
        feed: state.changes.get(since?.feed.version ?? 0)?.token ?? null,
        usage: state.usageMarks.get(since?.usage.version ?? 0) ?? null,
      },
      replica: replica ? (replica.closed ? 'closed' : 'open') : 'missing',
      replicas: [...state.replicas.values()].filter(
        ({ closed, seenAt }) => !closed && clock.monotonic() - seenAt < 15_000,
      ).length,
    };
  };

  /** The counts that other replicas allowed a key in its quota's period; undefined for a key without a quota. */
  const othersOf = (keyId: Id, { incarnation, calendar: { start, end } }: UsageQuestion): number | undefined => {
    const period = state.plans.get(state.keys.get(keyId)?.planId ?? '')?.quotaPeriod;
    if (!period) return undefined;
    let allowed = 0;
    for (const row of state.usage.values()) {
      const at = Date.parse(row.day);
      if (row.keyId !== keyId || row.incarnation === incarnation) continue;
      if (at >= start[period] && at < end[period]) allowed += row.allowed;
    }
    return allowed;
  };

  const others = (keyIds: Iterable<Id>, question: UsageQuestion): OthersRow[] =>
    [...keyIds].flatMap((keyId) => {
      const allowed = othersOf(keyId, question);
      return allowed === undefined ? [] : { keyId, allowed };
    });

  const changes = (question: ChangesQuestion): (Changes & { others: OthersRow[] }) | undefined => {
    const { since } = question;
    const now = head(since, question.incarnation);
    const continuity = continues(now, since);
    if (!continuity.feed) return undefined;
    const ids = { plan: new Set<Id>(), key: new Set<Id>(), app: new Set<Id>() };
    for (let version = since.feed.version + 1; version <= state.feedVersion; version++) {
      const entry = state.changes.get(version);
      if (!entry) return undefined;
      ids[entry.entity].add(entry.id);
    }
    const present = <Row>(from: Map<Id, Row>, wantedIds: Set<Id>) => [...wantedIds].flatMap((id) => from.get(id) ?? []);
    const absent = (from: Map<Id, unknown>, wantedIds: Set<Id>) => [...wantedIds].filter((id) => !from.has(id));
    const plans = present(state.plans, ids.plan);
    const otherPeriod = new Set(
      plans.filter((plan) => plan.quotaPeriod && plan.quotaPeriod !== question.periodOf(plan.id)).map(({ id }) => id),
    );
    const concerned = [...state.keys.values()].filter(
      ({ id, planId }) =>
        ids.key.has(id) ||
        otherPeriod.has(planId) ||
        [...state.usage.values()].some(
          (row) => row.keyId === id && row.version > since.usage.version && row.incarnation !== question.incarnation,
        ),
    );
    const allUsage = question.allUsage || !continuity.usage;
    return structuredClone({
      primary: true,
      position: now.position,
      plans,
      keys: present(state.keys, ids.key),
      apps: present(state.apps, ids.app),
      gone: {
        plans: absent(state.plans, ids.plan),
        keys: absent(state.keys, ids.key),
        apps: absent(state.apps, ids.app),
      },
      others: others(allUsage ? state.keys.keys() : concerned.map(({ id }) => id), question),
      allUsage,
    });
  };

  const flush = (incarnation: Id, batch: number, columns: UsageColumns): boolean => {
    const replica = state.replicas.get(incarnation);
    if (!replica || replica.closed) return false;
    replica.flushes = Math.max(replica.flushes, batch);
    const version = nextUsageVersion();
    for (const { keyId, day, allowed, rateDenied, quotaDenied } of rowsOf(columns)) {
      if (!state.keys.has(keyId)) continue;
      const id = `${keyId} ${day} ${incarnation}`;
      const row = state.usage.get(id);
      state.usage.set(id, {
        keyId,
        day,
        incarnation,
        version,
        allowed: Math.max(allowed, row?.allowed ?? 0),
        rateDenied: Math.max(rateDenied, row?.rateDenied ?? 0),
        quotaDenied: Math.max(quotaDenied, row?.quotaDenied ?? 0),
      });
    }
    return true;
  };

  /** A connection whose every call takes the delay in both directions. */
  const session = (link: Link, ended: AbortController): GateSession => {
    const cut = new Promise<never>((_, reject) => {
      ended.signal.addEventListener('abort', () => reject(new Error('connection lost')));
    });
    cut.catch(() => undefined);
    const call = async <T>(act: () => T): Promise<T> => {
      if (ended.signal.aborted) throw new Error('connection lost');
      const way = async () => {
        await clock.sleep(link.latency);
        if (link.hanging) await new Promise(() => undefined);
      };
      const work = async () => {
        await way();
        const result = act();
        await way();
        return result;
      };
      return Promise.race([work(), cut]);
    };
    return {
      head: (since, incarnation) => call(() => head(since, incarnation)),
      async changes(question, sink) {
        const read = await call(() => changes(question));
        if (read) sink.others(read.others);
        return read;
      },
      async load(question, sink) {
        const read = await call(() =>
          structuredClone({
            state,
            position: head(undefined, question.incarnation).position,
            others: others(state.keys.keys(), question),
          }),
        );
        sink.plans([...read.state.plans.values()]);
        sink.apps([...read.state.apps.values()]);
        for (const key of read.state.keys.values()) {
          sink.keys([key]);
          await call(() => undefined);
        }
        sink.others(read.others.filter(({ allowed }) => allowed > 0));
        return { primary: true, position: read.position };
      },
      register: (incarnation) =>
        call(() => {
          const row = { seenAt: clock.monotonic(), flushes: 0, closed: false, folded: false };
          if (!state.replicas.has(incarnation)) state.replicas.set(incarnation, row);
        }),
      report: (incarnation) =>
        call(() => {
          const row = state.replicas.get(incarnation);
          if (row && !row.closed) row.seenAt = clock.monotonic();
        }),
      close: (incarnation) =>
        call(() => {
          const row = state.replicas.get(incarnation);
          if (row) row.closed = true;
          return row?.flushes ?? 0;
        }),
      flush: (incarnation, batch, columns) => call(() => flush(incarnation, batch, columns)),
      end: () => ended.abort(),
    };
  };

  return {
    get state(): Readonly<StoreState> {
      return state;
    },
    putPlan(row: PlanRow) {
      state.plans.set(row.id, row);
      change('plan', row.id);
    },
    putKey(row: KeyRow) {
      state.keys.set(row.id, row);
      change('key', row.id);
    },
    putApp(row: AppRow) {
      state.apps.set(row.id, row);
      change('app', row.id);
    },
    deleteKey(id: Id) {
      if (!state.keys.delete(id)) return;
      for (const [row, { keyId }] of state.usage) if (keyId === id) state.usage.delete(row);
      change('key', id);
    },
    /** As the queue `housekeeping` does. */
    housekeep(silentMs: number) {
      for (const row of state.replicas.values()) {
        if (clock.monotonic() - row.seenAt > silentMs) row.closed = true;
      }
      for (const [incarnation, replica] of state.replicas) {
        if (!replica.closed || replica.folded) continue;
        replica.folded = true;
        const version = nextUsageVersion();
        for (const [id, row] of state.usage) {
          if (row.incarnation !== incarnation) continue;
          state.usage.delete(id);
          const sum = `${row.keyId} ${row.day} ${folded}`;
          const before = state.usage.get(sum);
          state.usage.set(sum, {
            ...row,
            incarnation: folded,
            version,
            allowed: row.allowed + (before?.allowed ?? 0),
            rateDenied: row.rateDenied + (before?.rateDenied ?? 0),
            quotaDenied: row.quotaDenied + (before?.quotaDenied ?? 0),
          });
        }
      }
    },
    copy: (): StoreState => structuredClone(state),
    /** Replaces the store by an older copy; the caller cuts the links. */
    restore(copy: StoreState) {
      state = structuredClone(copy);
    },
    /** A replica's connection. @param deaf loses every notification */
    link({ deaf = false } = {}): { link: Link; store: GateStore } {
      const open = new Set<AbortController>();
      const link: Link = {
        latency: 1,
        hanging: false,
        cut: () => {
          for (const ended of open) ended.abort();
          open.clear();
        },
      };
      const store: GateStore = {
        async connect(nudge) {
          const ended = new AbortController();
          open.add(ended);
          const notify = () => {
            if (!deaf && !link.hanging) nudge?.();
          };
          if (nudge) listeners.add(notify);
          ended.signal.addEventListener('abort', () => {
            open.delete(ended);
            listeners.delete(notify);
            nudge?.();
          });
          const opened = session(link, ended);
          await opened.close('');
          return opened;
        },
      };
      return { link, store };
    },
  };
}

export type StoreModel = ReturnType<typeof storeModel>;
