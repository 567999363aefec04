/** Too many calls of a group wait already. */
export class QueueFull extends Error {
  override readonly name = 'QueueFull';
}

export interface FairQueueLimits {
  /** Calls that run at once. */
  total: number;
  /** Calls of one group that run at once. */
  perGroup: number;
  /** Calls of one group that wait. */
  waiting: number;
}

/** Runs calls of groups, such as tenants. A group with many calls waits for its own, and the groups take turns. */
export interface FairQueue {
  /** @throws QueueFull */
  run<T>(group: string, call: () => Promise<T>): Promise<T>;
}

export function createFairQueue({ total, perGroup, waiting }: FairQueueLimits): FairQueue {
  /** The calls of each group; a group that has had its turn goes to the end. */
  const groups = new Map<string, { running: number; starts: (() => void)[] }>();
  let running = 0;

  const startNext = () => {
    for (const [name, group] of groups) {
      if (running >= total) return;
      const start = group.running < perGroup ? group.starts.shift() : undefined;
      if (!start) continue;
      groups.delete(name);
      groups.set(name, group);
      group.running++;
      running++;
      start();
    }
  };

  return {
    async run(name, call) {
      const group = groups.get(name) ?? { running: 0, starts: [] };
      if (group.starts.length >= waiting) throw new QueueFull('too many calls wait');
      groups.set(name, group);
      const { promise, resolve } = Promise.withResolvers<void>();
      group.starts.push(resolve);
      startNext();
      await promise;
      try {
        return await call();
      } finally {
        group.running--;
        running--;
        if (group.running === 0 && group.starts.length === 0) groups.delete(name);
        startNext();
      }
    },
  };
}
