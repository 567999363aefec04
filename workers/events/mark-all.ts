/** How a database marks events as done. */
export interface Marking {
  begin: () => Promise<unknown>;
  /** Marks one event. */
  mark: (id: string) => Promise<unknown>;
  commit: () => Promise<unknown>;
  rollback: () => Promise<unknown>;
  /** Why one event was refused; undefined for an error that is about the connection, which is thrown on. */
  refusal: (error: unknown) => string | undefined;
}

/** Where each is marked by itself, others have their turn after so long. */
const singlyMs = 20_000;

/**
 * Marks events in one transaction, which costs one commit for all of them; where one is refused, each by itself.
 * @returns why each of those failed that did
 */
export async function markAll(ids: readonly string[], marking: Marking): Promise<ReadonlyMap<string, string>> {
  const { begin, mark, commit, rollback, refusal } = marking;
  try {
    await begin();
    for (const id of ids) await mark(id);
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
