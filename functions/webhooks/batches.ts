/** How single items become batches. */
export interface BatchOptions<Item, Result> {
  /** Does what is asked for; the results are in the order of the items. */
  run: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** Batches under way at a time; default 2: one is worked on while the other waits, such as for the disk. */
  atOnce?: number;
  /** Items of a batch at most; default 32. */
  most?: number;
}

/**
 * Puts together what comes while others are under way; what comes alone is run at once and waits for nobody.
 * @returns what takes an item and gives its result; it rejects when its batch does
 */
export function createBatches<Item, Result>({
  run,
  atOnce = 2,
  most = 32,
}: BatchOptions<Item, Result>): (item: Item) => Promise<Result> {
  interface Waiting {
    item: Item;
    resolve: (result: Result) => void;
    reject: (error: unknown) => void;
  }
  const waiting: Waiting[] = [];
  let underWay = 0;

  const runBatch = async (batch: readonly Waiting[]) => {
    underWay++;
    try {
      const results = await run(batch.map(({ item }) => item));
      // As many as there are items, whatever the type of an element says.
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    underWay--;
    begin();
  };
  const begin = () => {
    if (underWay < atOnce && waiting.length > 0) void runBatch(waiting.splice(0, most));
  };

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      begin();
    });
}
