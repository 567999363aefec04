import type { Clock } from '../../runtime/domain/clock.ts';
import { withDeadline } from '../../runtime/domain/deadline.ts';
import type { GateSession, GateStore } from './gate-store.ts';

const connectLimitMs = 5_000;

/** One connection to the store, opened when it is needed and dropped after any failure. */
export interface StoreConnection {
  /** The open session, or a new one. @throws Error if connecting fails or takes longer than 5 s */
  session: () => Promise<GateSession>;
  /** Resolves as `work` does; rejects after `ms` or when the signal aborts. @param what names the work in the error */
  withTimeout: <T>(ms: number, what: string, work: Promise<T>) => Promise<T>;
  /** Closes the session; the next call of `session` opens another one. */
  drop: () => void;
}

/** @param signal rejects everything that is in progress */
export function createStoreConnection(
  { store, clock, signal }: { store: GateStore; clock: Clock; signal: AbortSignal },
  onNotify?: () => void,
): StoreConnection {
  let current: GateSession | undefined;
  const withTimeout = <T>(ms: number, what: string, work: Promise<T>) =>
    withDeadline({ clock, signal, ms, what }, work);
  return {
    withTimeout,
    async session() {
      if (current) return current;
      const opening = store.connect(onNotify);
      try {
        current = await withTimeout(connectLimitMs, 'connecting to the store', opening);
        return current;
      } catch (error) {
        void opening.then(
          (late) => late.end(),
          () => undefined,
        );
        throw error;
      }
    },
    drop() {
      current?.end();
      current = undefined;
    },
  };
}
