/** How a database marks events as done. */
export interface Marking {
  begin: () => Promise<unknown>;
  /** Marks one event. */
  mark: (id: string) => Promise<unknown>;
  /** Marks that may be under way at once, while they are quick; default 1. */
  together?: number;
  commit: () => Promise<unknown>;
  rollback: () => Promise<unknown>;
  /** Why one event was refused; undefined for an error that is about the connection, which is thrown on. */
  refusal: (error: unknown) => string | undefined;
}

/** Where each is marked by itself, others have their turn after so long. */
const singlyMs = 20_000;
/** Of slow ones each waits for the one before: what limits the time of one counts from when it is sent. */
const quickMs = 20;

/**
 * Marks events in one transaction, which costs one commit for all of them; where one is refused, each by itself.
 * @returns why each of those failed that did
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
      failures.set(id, 'Not tried yet: marking the others took too long.');
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

/** Rejects with the first failure, once nothing is under way any more. */
async function markEach(ids: readonly string[], { mark, together = 1 }: Marking): Promise<void> {
  for (let at = 0, size = 1; at < ids.length;) {
    const started = performance.now();
    const some = ids.slice(at, at + size);
    for (const result of await Promise.allSettled(some.map(mark))) {
      if (result.status === 'rejected') throw result.reason;
    }
    at += some.length;
    size = performance.now() - started < quickMs * some.length ? together : 1;
  }
}
