/** Who waits: either it starts, or it is refused. */
interface Waiting {
  start(): void;
  refuse(): void;
}

/** Waiting entries in one queue for each group. The groups have turns one after the other. */
export interface WaitingRoom {
  /**
   * Adds an entry, or refuses it. In a full room, the group with the most entries makes room for one that has at least two
   * fewer. If each group has one, a random one makes room: who filled the room does not keep all others out.
   */
  add(group: string, entry: Waiting): void;
  /** Starts the next entry, if there is one. */
  startNext(): void;
  isEmpty(): boolean;
}

/** @param max entries in all, and of one group */
export function createWaitingRoom(max: { all: number; ofGroup: number }): WaitingRoom {
  /** By group, the one whose turn is next first. */
  const queues = new Map<string, Waiting[]>();

  const makeRoom = (ofGroup: number): boolean => {
    const all = [...queues];
    if (all.reduce((sum, [, queue]) => sum + queue.length, 0) < max.all) return true;
    const largest = all.reduce((a, b) => (b[1].length > a[1].length ? b : a));
    const allHaveOne = largest[1].length === 1 && ofGroup === 0;
    if (!allHaveOne && largest[1].length < ofGroup + 2) return false;
    const [group, queue] = allHaveOne ? (all[Math.floor(Math.random() * all.length)] ?? largest) : largest;
    queue.pop()?.refuse();
    if (queue.length === 0) queues.delete(group);
    return true;
  };

  return {
    add(group, entry) {
      const length = queues.get(group)?.length ?? 0;
      if (length >= max.ofGroup || !makeRoom(length)) {
        entry.refuse();
        return;
      }
      const queue = queues.get(group) ?? [];
      queue.push(entry);
      queues.set(group, queue);
    },
    startNext() {
      const [first] = queues;
      if (!first) return;
      const [group, queue] = first;
      queues.delete(group);
      const next = queue.shift();
      if (queue.length > 0) queues.set(group, queue);
      next?.start();
    },
    isEmpty: () => queues.size === 0,
  };
}
