/**
 * Looks up together what is asked for in one turn of the event loop, because a statement costs more than its rows. The
 * look-up begins after all of it was asked for, so no answer is older than that of a statement of its own.
 * @param find the values of keys, in their order
 */
export function createTurnLookup<Key, Value>(
  find: (keys: readonly Key[]) => Promise<readonly (Value | undefined)[]>,
): (key: Key) => Promise<Value | undefined> {
  let keys: Key[] = [];
  let values: Promise<readonly (Value | undefined)[]> | undefined;
  return async (key) => {
    const index = keys.push(key) - 1;
    values ??= new Promise((resolve) => {
      setImmediate(() => {
        const batch = keys;
        keys = [];
        values = undefined;
        resolve(find(batch));
      });
    });
    return (await values)[index];
  };
}
