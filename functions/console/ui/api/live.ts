import type { Query, QueryClient } from '@tanstack/react-query';
import type { WatchKind, WatchMessage } from '../../../../runtime/contracts/api/watch.ts';

declare module '@tanstack/react-query' {
  interface Register {
    queryMeta: { live?: 'all' | readonly WatchKind[] };
  }
}

/**
 * Options of a query about a project, whose key begins with `['project', project]` or `['project', project, environment]`:
 * it is sent again when something changes there. The event stream of the project tells.
 */
export const live = { meta: { live: 'all' }, refetchOnWindowFocus: true } as const;

/** As {@link live}, for what only changes of these kinds change. */
export function liveFor(...kinds: readonly WatchKind[]) {
  return { ...live, meta: { live: kinds } };
}

/** Options of a query about what no event stream tells: it is sent again every 15 seconds while the tab is visible. */
export const polled = {
  refetchInterval: 15_000,
  refetchIntervalInBackground: false,
  refetchOnWindowFocus: true,
} as const;

interface LiveQuery {
  queryKey: readonly unknown[];
  meta: { live?: 'all' | readonly WatchKind[] } | undefined;
}

/** Whether a query about a project may show what a message is about; `all` stands for any change. */
export function isAbout({ queryKey, meta }: LiveQuery, project: string, message: WatchMessage | 'all'): boolean {
  if (meta?.live === undefined || queryKey[0] !== 'project' || queryKey[1] !== project) return false;
  if (message === 'all' || !('kind' in message)) return true;
  const [, , environment] = queryKey;
  const isElsewhere = typeof environment === 'string' && (message.environment ?? environment) !== environment;
  return !isElsewhere && (meta.live === 'all' || meta.live.includes(message.kind));
}

/**
 * Sends the queries again that may show one of the changes. A list whose next page is being read is left alone: sending it
 * again would cancel the request for that page.
 */
export function sendAgain(
  client: QueryClient,
  project: string,
  changes: readonly (WatchMessage | 'all')[],
): Promise<void> {
  return client.invalidateQueries({
    predicate: (query) => !isReadingMore(query) && changes.some((change) => isAbout(query, project, change)),
  });
}

const isReadingMore = ({ state }: Query): boolean =>
  state.fetchStatus !== 'idle' && state.fetchMeta?.fetchMore !== undefined;
