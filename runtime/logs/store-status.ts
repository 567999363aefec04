import type { LogStoreStatus } from './log-store.ts';
import type { StoreState } from './store-state.ts';

/** What each namespace has in the segments of a store. */
export function namespacesOf(
  segments: Iterable<{ namespace: string; hour: string; size: number }>,
  state: Pick<StoreState, 'namespaces'>,
): LogStoreStatus['namespaces'] {
  const namespaces = new Map<string, LogStoreStatus['namespaces'][string]>();
  for (const { namespace, hour, size } of segments) {
    const evictedBytes = state.namespaces.get(namespace)?.evictedBytes ?? 0;
    const entry = namespaces.get(namespace) ?? { bytes: 0, oldest: hour, newest: hour, evictedBytes };
    namespaces.set(namespace, entry);
    entry.bytes += size;
    if (hour < entry.oldest) entry.oldest = hour;
    if (hour > entry.newest) entry.newest = hour;
  }
  return Object.fromEntries(namespaces);
}
