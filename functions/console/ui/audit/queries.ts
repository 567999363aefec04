import { useInfiniteQuery, useQueryClient, type InfiniteData } from '@tanstack/react-query';
import type { AuditEntryView } from '../../../../runtime/contracts/api/audit.ts';
import { pathOf, request } from '../api/client.ts';
import { live, polled } from '../api/live.ts';
import type { List } from '../api/queries.ts';
import { timesOf, type AuditSearch } from './search.ts';

const pageSize = 50;

type Pages = InfiniteData<List<AuditEntryView>, string | undefined>;

/**
 * The audit log of a project, or of the whole platform: the newest entries, and older ones as the user asks for them. Most
 * entries of a project come with a change that the event stream reports.
 */
export function useAudit(project: string | undefined, search: AuditSearch) {
  const client = useQueryClient();
  const queryKey = project === undefined ? ['platform', 'audit', search] : ['project', project, null, 'audit', search];
  const path = project === undefined ? '/platform/audit' : pathOf('projects', project, 'audit');
  // Entries never change. Once older ones are shown, the list stands still: all of its pages would be read again for each
  // new entry.
  const stands = (client.getQueryData<Pages>(queryKey)?.pages.length ?? 0) > 1;
  const follows = project === undefined ? polled : { ...polled, ...live };
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => {
      const { since: _, until: __, ...filters } = search;
      const times = timesOf(search, Date.now());
      // The address of the platform's log has a project as a filter.
      const own = { ...filters, ...times, cursor: pageParam, limit: pageSize };
      return request<List<AuditEntryView>>(path, {
        query: project === undefined ? own : { ...own, project: undefined },
        signal,
      });
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    ...(stands ? { staleTime: Infinity, meta: {} } : follows),
  });
  return {
    query,
    stands,
    showOlder: () => void query.fetchNextPage(),
    showNewest: () => void client.resetQueries({ queryKey, exact: true }),
  };
}
