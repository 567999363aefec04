import { randomInt } from 'node:crypto';

/** What the store remembers besides lines. */
export interface StoreState {
  /** A random number, which a store whose data was deleted does not have again. */
  identity: number;
  /** The generation of the first journal that is not in the segments. */
  generation: number;
  /** The id of the next line. */
  next: number;
  /** The last batch of each shipper. */
  shippers: Map<string, { sequence: number; seen: string }>;
  /** What was deleted before the end of the retention; lines of a namespace before `keptSince` are missing. */
  namespaces: Map<string, { evictedBytes: number; keptSince: string }>;
  /** When all lines were last read in their order; undefined when nothing reads them, so that flushes are not recorded. */
  fedAt?: string | undefined;
}

/** Shippers that are remembered after they have not sent for some days. */
const shippersMax = 1_000;

/** The state of a new store. Its generation and ids are higher than those of a store whose state was lost. */
export function emptyState(now: Date): StoreState {
  return {
    identity: randomInt(2 ** 48 - 1),
    generation: now.getTime(),
    next: now.getTime() * 1000,
    shippers: new Map(),
    namespaces: new Map(),
  };
}

export function formatState({ shippers, namespaces, ...numbers }: StoreState): string {
  return JSON.stringify({ ...numbers, shippers: [...shippers], namespaces: [...namespaces] });
}

/** Reads a stored state; an empty one for a text that is none. */
export function parseState(text: string): StoreState | undefined {
  try {
    // Stores of earlier versions have none.
    const stored = { identity: 0, ...(JSON.parse(text) as Omit<StoreState, 'identity'> & { identity?: number }) };
    const { identity, generation, next, shippers, namespaces, fedAt } = stored;
    return { identity, generation, next, shippers: new Map(shippers), namespaces: new Map(namespaces), fedAt };
  } catch {
    return undefined;
  }
}

/** Forgets what no longer matters. @param keptFrom the beginning of the retention */
export function cleanState(state: StoreState, keptFrom: string): void {
  const { shippers, namespaces } = state;
  if (state.fedAt !== undefined && state.fedAt < keptFrom) state.fedAt = undefined;
  for (const [namespace, { keptSince }] of namespaces) if (keptSince < keptFrom) namespaces.delete(namespace);
  if (shippers.size <= shippersMax) return;
  for (const [name, { seen }] of shippers) if (seen < keptFrom) shippers.delete(name);
}
