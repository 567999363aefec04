/** Whether the API answers, as the last request showed; not whether it does what a request asks. */
let since: number | undefined;
const listeners = new Set<() => void>();

function set(value: number | undefined): void {
  if ((since === undefined) === (value === undefined)) return;
  since = value;
  for (const each of listeners) each();
}

/** For `useSyncExternalStore`. */
export function subscribeConnection(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Since when no request has been answered, in ms of the epoch; undefined while the API answers. */
export const unreachableSince = (): number | undefined => since;

export const reportUnreachable = (): void => set(since ?? Date.now());
export const reportReachable = (): void => set(undefined);
