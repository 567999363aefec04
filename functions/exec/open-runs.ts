/** The sessions of this process that have a run of their own, until the run is stopped. */
export interface OpenRuns {
  /** Never rejects. */
  add(session: Promise<void>): void;
  /** Resolves when no session is left. The caller has closed their connections. */
  drain(): Promise<void>;
}

export function createOpenRuns(): OpenRuns {
  const sessions = new Set<Promise<void>>();
  return {
    add(session) {
      sessions.add(session);
      void session.finally(() => sessions.delete(session));
    },
    async drain() {
      await Promise.all(sessions);
    },
  };
}
