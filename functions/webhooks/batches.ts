export interface BatchOptions<Item, Result> {
  /** Processes a batch; the results are in the order of the items. */
  run: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** Maximum number of concurrent batches; default 2: one is computed while the other waits, such as for the disk. */
  atOnce?: number;
  /** Maximum number of items in a batch; default 32. */
  maxItems?: number;
}

/**
 * Processes items that arrive while others are in progress in batches. A single item is processed immediately.
 * @returns a function from an item to its result, which rejects when the item's batch fails
 */
export function createBatches<Item, Result>({
  run,
  atOnce = 2,
  maxItems = 32,
}: BatchOptions<Item, Result>): (item: Item) => Promise<Result> {
  interface Entry {
    item: Item;
    resolve: (result: Result) => void;
    reject: (error: unknown) => void;
  }
  const queue: Entry[] = [];
  let running = 0;

  const runBatch = async (batch: readonly Entry[]) => {
    running++;
    try {
      const results = await run(batch.map(({ item }) => item));
      // There is one result for each item; an element's type may include undefined.
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    running--;
    start();
  };
  const start = () => {
    if (running < atOnce && queue.length > 0) void runBatch(queue.splice(0, maxItems));
  };

  return (item) =>
    new Promise((resolve, reject) => {
      queue.push({ item, resolve, reject });
      start();
    });
}
