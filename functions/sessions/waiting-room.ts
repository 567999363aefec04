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
  /** Refuses an entry of the group, if it still waits. */
  remove(group: string, entry: Waiting): void;
  /** Starts the next entry, if there is one. */
  startNext(): void;
  isEmpty(): boolean;
}

/** @param max entries in all, and of one group */
export function createWaitingRoom(max: { all: number; ofGroup: number }): WaitingRoom {
  /** By group, the one whose turn is next first. */
  const queues = new Map<string, Waiting[]>();
  /** The groups by their number of entries. A search of all queues took a twelfth of the API's time in a flood of logins. */
  const byLength = Array.from({ length: max.ofGroup + 1 }, () => new Set<string>());
  let size = 0;

  const count = (group: string, before: number, after: number) => {
    byLength[before]?.delete(group);
    if (after > 0) byLength[after]?.add(group);
    size += after - before;
  };

  const randomGroup = (): string | undefined => {
    let skipped = Math.floor(Math.random() * queues.size);
    for (const group of queues.keys()) if (skipped-- === 0) return group;
    return undefined;
  };

  const makeRoom = (ofGroup: number): boolean => {
    if (size < max.all) return true;
    const length = byLength.findLastIndex((groups) => groups.size > 0);
    const allHaveOne = length === 1 && ofGroup === 0;
    if (!allHaveOne && length < ofGroup + 2) return false;
    const [largest] = byLength[length] ?? [];
    const group = (allHaveOne ? randomGroup() : largest) ?? '';
    const queue = queues.get(group) ?? [];
    const entry = queue.pop();
    count(group, length, queue.length);
    if (queue.length === 0) queues.delete(group);
    entry?.refuse();
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
      count(group, length, queue.length);
    },
    remove(group, entry) {
      const queue = queues.get(group) ?? [];
      const at = queue.indexOf(entry);
      if (at < 0) return;
      count(group, queue.length, queue.length - 1);
      queue.splice(at, 1);
      if (queue.length === 0) queues.delete(group);
      entry.refuse();
    },
    startNext() {
      const [first] = queues;
      if (!first) return;
      const [group, queue] = first;
      queues.delete(group);
      const next = queue.shift();
      count(group, queue.length + 1, queue.length);
      if (queue.length > 0) queues.set(group, queue);
      next?.start();
    },
    isEmpty: () => queues.size === 0,
  };
}
