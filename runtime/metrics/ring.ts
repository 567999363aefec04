import { openRingFile, resolutions, type ResolutionIndex } from './ring-file.ts';
import { chooseVictim, type Crowd } from './ring-room.ts';

/** One series: a metric of a workload, and the class of status or the bucket (`part`) if the metric has those. */
export interface SeriesId {
  namespace: string;
  kind: string;
  name: string;
  metric: string;
  part: string;
}

/** A series in the ring. */
export interface RingSeries {
  readonly id: SeriesId;
  /** When the newest value was added, in seconds. */
  readonly lastAt: number;
}

/** When the clock is set back by more seconds than this, what a series had is given up: its slots have later times. */
const setBackSeconds = 300;

/** How many series a ring holds: about 100 MB on disk. */
const defaultSeriesMax = 4_000;

export interface RingOptions {
  /** The file; it is created if it does not exist. */
  path: string;
  /** Default 4,000. */
  seriesMax?: number;
}

/**
 * Series of fixed size on disk, with at most `seriesMax` of them. A slot of a counter holds the increase in its time, a
 * slot of a gauge the last value; each slot is named by its end. In memory is only what is needed to add values.
 */
export interface Ring {
  /**
   * Adds a value for a time in seconds. Of a counter, `value` is the increase since the last call.
   * @returns false when there is no room for a new series
   */
  add(id: SeriesId, type: 'counter' | 'gauge', at: number, value: number): boolean;
  /** The series of a namespace. */
  of(namespace: string): RingSeries[];
  /** The values of slots from `slot` on, NaN where there are none. */
  values(series: RingSeries, resolution: ResolutionIndex, slot: number, count: number): Float64Array;
  /** Series in use, and how many values were refused because there was no room. */
  stats(): { series: number; refused: number };
  /** Writes what is in memory. */
  flush(): void;
  close(): void;
}

/** The values of one series that are not on disk yet. */
interface OpenSlot {
  slot: number;
  value: number;
}

interface Series extends RingSeries {
  record: number;
  lastAt: number;
  /** For each resolution: the slot that is being filled. */
  open: OpenSlot[];
}

/** Opens a ring with what it held before. */
export function openRing({ path, seriesMax = defaultSeriesMax }: RingOptions): Ring {
  const file = openRingFile(path);
  const namespaces = new Map<string, Map<string, Series>>();
  const freeRecords: number[] = [];
  let count = 0;
  let refused = 0;
  /** Namespaces without room at a time, so that each is looked at once for each collection. */
  const full = { at: 0, namespaces: new Set<string>() };

  const insert = (key: string, series: Series) => {
    const { namespace } = series.id;
    const group = namespaces.get(namespace) ?? new Map<string, Series>();
    namespaces.set(namespace, group.set(key, series));
    count++;
  };
  const remove = (key: string, { id: { namespace }, record }: Series) => {
    const group = namespaces.get(namespace);
    group?.delete(key);
    if (group?.size === 0) namespaces.delete(namespace);
    file.remove(record);
    freeRecords.push(record);
    count--;
  };

  const load = () => {
    const used = new Set<number>();
    for (const { record, key, newest } of file.load()) {
      const id = idOf(key);
      if (!id || used.size >= seriesMax) continue;
      used.add(record);
      const open = newest.map((slot, index) => {
        const [value = NaN] = file.read(record, index as ResolutionIndex, slot, 1);
        return { slot, value };
      });
      insert(key, { id, record, lastAt: (newest[0] ?? 0) * resolutions[0].seconds, open });
    }
    for (let record = 0; record < file.size(); record++) if (!used.has(record)) freeRecords.push(record);
  };
  load();

  /** A record for a new series, taken from others if the ring is full. */
  const makeRoom = (namespace: string, at: number): number | undefined => {
    if (full.at !== at) {
      full.at = at;
      full.namespaces.clear();
    }
    if (full.namespaces.has(namespace)) return undefined;
    if (count >= seriesMax) {
      const crowds = function* (): Generator<Crowd<[string, Series]>> {
        for (const [name, group] of namespaces) {
          yield { name, size: group.size, members: () => [...group], lastAt: ([, { lastAt }]) => lastAt };
        }
      };
      const victim = chooseVictim(namespace, crowds(), at);
      if (!victim) {
        full.namespaces.add(namespace);
        return undefined;
      }
      remove(...victim);
    }
    return freeRecords.pop() ?? count;
  };

  const create = (key: string, id: SeriesId, at: number): Series | undefined => {
    const record = makeRoom(id.namespace, at);
    if (record === undefined) return undefined;
    const open = resolutions.map(({ seconds }) => ({ slot: Math.ceil(at / seconds), value: NaN }));
    if (!file.create(record, key, slotsOf(open))) {
      freeRecords.push(record);
      return undefined;
    }
    const series = { id, record, lastAt: at, open };
    insert(key, series);
    return series;
  };

  /** Writes the slot that is being filled, and empties those up to the next one. */
  const advance = ({ record, open }: Series, resolution: ResolutionIndex, slot: number) => {
    const current = open[resolution];
    if (!current || slot <= current.slot) return;
    const { slots } = resolutions[resolution];
    const gap = Math.min(slot - current.slot - 1, slots - 1);
    if (gap >= slots - 1) file.write(record, resolution, slot, Array<number>(slots).fill(NaN));
    else file.write(record, resolution, current.slot, [current.value, ...Array<number>(gap + 1).fill(NaN)]);
    open[resolution] = { slot, value: NaN };
  };

  return {
    add(id, type, at, value) {
      const key = keyOf(id);
      let series = namespaces.get(id.namespace)?.get(key);
      if (series && at < series.lastAt - setBackSeconds) {
        remove(key, series);
        series = undefined;
      }
      series ??= create(key, id, at);
      if (!series) {
        refused++;
        return false;
      }
      resolutions.forEach(({ seconds }, index) => {
        const slot = Math.ceil(at / seconds);
        advance(series, index as ResolutionIndex, slot);
        const current = series.open[index];
        if (!current || slot < current.slot) return;
        const sum = Number.isNaN(current.value) ? value : current.value + value;
        current.value = type === 'counter' ? sum : value;
      });
      const minute = (time: number) => Math.ceil(time / resolutions[1].seconds);
      if (minute(at) !== minute(series.lastAt)) file.writeNewest(series.record, slotsOf(series.open));
      series.lastAt = Math.max(series.lastAt, at);
      return true;
    },
    of: (namespace) => [...(namespaces.get(namespace)?.values() ?? [])],
    values(listed, resolution, slot, length) {
      const { id } = listed;
      const series = namespaces.get(id.namespace)?.get(keyOf(id));
      const current = series?.open[resolution];
      const values = new Float64Array(length).fill(NaN);
      if (!series || !current) return values;
      const oldest = current.slot - resolutions[resolution].slots + 1;
      const [from, to] = [Math.max(slot, oldest), Math.min(slot + length, current.slot)];
      if (to > from) values.set(file.read(series.record, resolution, from, to - from), from - slot);
      if (current.slot >= slot && current.slot < slot + length) values[current.slot - slot] = current.value;
      return values;
    },
    stats: () => ({ series: count, refused }),
    flush,
    close() {
      flush();
      file.close();
    },
  };

  function flush(): void {
    for (const group of namespaces.values()) {
      for (const { record, open } of group.values()) {
        open.forEach(({ slot, value }, index) => file.write(record, index as ResolutionIndex, slot, [value]));
        file.writeNewest(record, slotsOf(open));
      }
    }
  }
}

function slotsOf(open: readonly OpenSlot[]): number[] {
  return open.map(({ slot }) => slot);
}

function keyOf({ namespace, kind, name, metric, part }: SeriesId): string {
  return [namespace, kind, name, metric, part].join('\n');
}

function idOf(key: string): SeriesId | undefined {
  const [namespace, kind, name, metric, part, ...rest] = key.split('\n');
  if (namespace === undefined || kind === undefined || name === undefined || metric === undefined) return undefined;
  return part === undefined || rest.length > 0 ? undefined : { namespace, kind, name, metric, part };
}
