import type { GateSession, GateStore } from '../../../gate/authz/gate-store.ts';

/** A store whose answers a test writes; every other call fails. It counts the connections. */
export function scriptedStore(answers: Partial<GateSession>) {
  const unexpected = () => Promise.reject(new Error('unexpected call'));
  const connections = { opened: 0, ended: 0 };
  const store: GateStore = {
    connect() {
      connections.opened++;
      return Promise.resolve({
        head: unexpected,
        changes: unexpected,
        load: unexpected,
        register: unexpected,
        report: unexpected,
        close: unexpected,
        flush: unexpected,
        ...answers,
        end() {
          connections.ended++;
        },
      });
    },
  };
  return { store, connections };
}

/** The answer of a store that hangs. */
export const never = new Promise<never>(() => undefined);
