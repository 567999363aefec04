/** How a database marks events as done. */
export interface Marking {
  begin: () => Promise<unknown>;
  /** Marks one event. */
  mark: (id: string) => Promise<unknown>;
  /** Maximum concurrent marks, while they are quick; default 1. */
  concurrency?: number;
  commit: () => Promise<unknown>;
  rollback: () => Promise<unknown>;
  /** Why an event was refused; undefined for an error of the connection, which is thrown. */
  refusal: (error: unknown) => string | undefined;
}

/** Time-out of marking events one by one, so that other functions are not delayed. */
const singlyMs = 20_000;
/** Marks slower than this run one at a time, because the time-out of a statement counts from when it is sent. */
const quickMs = 20;

/**
 * Marks events in one transaction, which needs one commit for all. If one is refused, each is marked in its own.
 * @returns the reasons of the failed ones
 */
export async function markAll(ids: readonly string[], marking: Marking): Promise<ReadonlyMap<string, string>> {
  const { begin, mark, commit, rollback, refusal } = marking;
  try {
    await begin();
    await markEach(ids, marking);
    await commit();
    return new Map();
  } catch (error) {
    if (refusal(error) === undefined) throw error;
    await rollback();
  }
  const failures = new Map<string, string>();
  const started = performance.now();
  for (const id of ids) {
    if (performance.now() - started > singlyMs) {
      failures.set(id, 'Not tried yet: marking the other events took too long.');
      continue;
    }
    try {
      await begin();
      await mark(id);
      await commit();
    } catch (error) {
      const reason = refusal(error);
      if (reason === undefined) throw error;
      failures.set(id, reason);
      await rollback();
    }
  }
  return failures;
}

/** Rejects with the first failure, after all concurrent marks have ended. */
async function markEach(ids: readonly string[], { mark, concurrency = 1 }: Marking): Promise<void> {
  for (let at = 0, size = 1; at < ids.length;) {
    const started = performance.now();
    const batch = ids.slice(at, at + size);
    for (const result of await Promise.allSettled(batch.map(mark))) {
      if (result.status === 'rejected') throw result.reason;
    }
    at += batch.length;
    size = performance.now() - started < quickMs * batch.length ? concurrency : 1;
  }
}
