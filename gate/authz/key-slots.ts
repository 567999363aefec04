import type { Id } from '../../runtime/domain/ids.ts';
import { IdRecords } from './id-records.ts';
import { SlotIndex } from './slot-index.ts';

/**
 * The slots of keys: small positive integers by which the view, the buckets and the counts of a replica find what they
 * know of a key. A key keeps its slot over loads. Slot 0 belongs to no key.
 */
export interface KeySlots {
  /** The key's slot; 0 when it has none. */
  find(id: Id): number;
  /** The key's slot, which it gets here if it has none. @throws Error for a text that is no id */
  slotOf(id: Id): number;
  /** The id of the slot's key. @throws Error when the slot is free */
  idOf(slot: number): Id;
  /** Writes the 16 bytes of that id. @throws Error when the slot is free */
  copyId(slot: number, target: Buffer, at: number): void;
  /** The highest slot that was ever used. */
  last(): number;
  /** Frees each slot that is not used any more. */
  free(isUsed: (slot: number) => boolean): void;
}

export function createKeySlots(): KeySlots {
  const ids = new IdRecords();
  const index = new SlotIndex((slot) => ids.hash(slot));
  const freed: number[] = [];
  let last = 0;

  const matches = (slot: number) => ids.matches(slot);
  const find = (id: Id): number => (ids.read(id) ? index.find(ids.hashRead(), matches) : 0);

  return {
    find,
    slotOf(id) {
      const existing = find(id);
      if (existing !== 0) return existing;
      if (!ids.read(id)) throw new Error(`${id} is no id of a key`);
      const slot = freed.pop() ?? ++last;
      ids.put(slot);
      index.add(slot);
      return slot;
    },
    idOf(slot) {
      const id = ids.get(slot);
      if (id === undefined) throw new Error('the slot is free');
      return id;
    },
    copyId(slot, target, at) {
      if (!ids.has(slot)) throw new Error('the slot is free');
      ids.copy(slot, target, at);
    },
    last: () => last,
    free(isUsed) {
      for (let slot = 1; slot <= last; slot++) {
        if (!ids.has(slot) || isUsed(slot)) continue;
        index.remove(slot);
        ids.remove(slot);
        freed.push(slot);
      }
    },
  };
}
