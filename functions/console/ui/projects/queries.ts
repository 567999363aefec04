import { queryOptions } from '@tanstack/react-query';
import type { MemberView } from '../../../../runtime/contracts/api/members.ts';
import { pathOf, request } from '../api/client.ts';
import { liveFor } from '../api/live.ts';
import type { List } from '../api/queries.ts';

const pageSize = 500;

/** The users with a role in a project. Keys of what belongs to no environment have null in its place. */
export const membersQuery = (project: string) =>
  queryOptions({
    queryKey: ['project', project, null, 'members'],
    queryFn: ({ signal }) =>
      request<List<MemberView>>(pathOf('projects', project, 'members'), { query: { limit: pageSize }, signal }),
    ...liveFor('Member'),
  });
