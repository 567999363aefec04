import { mkdir, readdir, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isLabel, logKinds, type LogKind } from './record.ts';
import { chooseEviction, segmentCost } from './retention.ts';

/** The file with one workload's lines of one hour. */
interface Segment {
  namespace: string;
  kind: LogKind;
  name: string;
  /** Such as `2026-11-22T03`. */
  hour: string;
  path: string;
  /** Bytes that are stored; what the file has beyond them is not finished. */
  size: number;
  cost: number;
}

/** Which hour's segment a workload's lines are in. */
export type SegmentKey = Pick<Segment, 'namespace' | 'kind' | 'name' | 'hour'>;

const extension = '.jsonl.zst';
const hourShape = /^\d{4}-\d\d-\d\dT\d\d$/;

/** The hour of a line. */
export function hourOf(time: string): string {
  return time.slice(0, 13);
}

/** The segments in a folder. */
export interface SegmentIndex {
  load(): Promise<void>;
  /** The segment of an hour, which may not exist yet. */
  at(key: SegmentKey): Segment;
  /** Sets the stored size of a segment. */
  store(segment: Segment, size: number): void;
  /** The segments of a workload, in no order. */
  of(workload: Omit<SegmentKey, 'hour'>): Segment[];
  all(): Iterable<Segment>;
  bytes(): number;
  /** What all segments take, see {@link segmentCost}. */
  cost(): number;
  /** Deletes the segments before an hour. */
  expire(before: string): Promise<void>;
  /** Deletes segments until the others take at most this. @returns what was deleted */
  evict(most: number): Promise<Segment[]>;
}

export function createSegmentIndex(folder: string, maxBytes: number): SegmentIndex {
  const workloads = new Map<string, Map<string, Segment>>();
  let bytes = 0;
  let cost = 0;
  const keyOf = ({ namespace, kind, name }: Omit<SegmentKey, 'hour'>) => `${namespace}/${kind}/${name}`;

  const at: SegmentIndex['at'] = ({ namespace, kind, name, hour }) => {
    const existing = workloads.get(keyOf({ namespace, kind, name }))?.get(hour);
    if (existing) return existing;
    const path = join(folder, namespace, kind, name, `${hour}${extension}`);
    return { namespace, kind, name, hour, path, size: 0, cost: 0 };
  };
  const store: SegmentIndex['store'] = (segment, size) => {
    const key = keyOf(segment);
    const hours = workloads.get(key) ?? new Map<string, Segment>();
    workloads.set(key, hours.set(segment.hour, segment));
    bytes += size - segment.size;
    segment.size = size;
    cost -= segment.cost;
    segment.cost = segmentCost(size, maxBytes);
    cost += segment.cost;
  };
  const remove = async (segment: Segment) => {
    const key = keyOf(segment);
    const hours = workloads.get(key);
    if (!hours?.delete(segment.hour)) return;
    bytes -= segment.size;
    cost -= segment.cost;
    segment.size = 0;
    segment.cost = 0;
    await rm(segment.path, { force: true });
    if (hours.size > 0) return;
    workloads.delete(key);
    // Fails while a folder has files, such as of another workload.
    for (let path = dirname(segment.path); path !== folder; path = dirname(path)) {
      if (
        !(await rmdir(path).then(
          () => true,
          () => false,
        ))
      )
        return;
    }
  };
  function* all(): Generator<Segment> {
    for (const hours of workloads.values()) yield* hours.values();
  }

  return {
    at,
    store,
    all,
    bytes: () => bytes,
    cost: () => cost,
    of: (workload) => [...(workloads.get(keyOf(workload))?.values() ?? [])],
    async load() {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      for (const namespace of await namesIn(folder)) {
        for (const kind of logKinds) {
          for (const name of await namesIn(join(folder, namespace, kind))) {
            for (const file of await readdir(join(folder, namespace, kind, name))) {
              const hour = file.slice(0, -extension.length);
              if (!file.endsWith(extension) || !hourShape.test(hour)) continue;
              const segment = at({ namespace, kind, name, hour });
              store(segment, (await stat(segment.path)).size);
            }
          }
        }
      }
    },
    async expire(before) {
      for (const segment of [...all()]) if (segment.hour < before) await remove(segment);
    },
    async evict(most) {
      if (cost <= most) return [];
      const evicted = chooseEviction([...all()], most).map((segment) => ({ ...segment }));
      for (const segment of evicted) await remove(at(segment));
      return evicted;
    },
  };
}

async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(() => [])).filter(isLabel);
}
