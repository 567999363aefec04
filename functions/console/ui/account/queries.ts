import { queryOptions } from '@tanstack/react-query';
import type { AccountSession } from '../../../../runtime/contracts/api/sessions.ts';
import type { TokenView } from '../../../../runtime/contracts/api/tokens.ts';
import { pathOf, request } from '../api/client.ts';
import { polled } from '../api/live.ts';
import type { List } from '../api/queries.ts';

const pageSize = 500;

/** Where the user is signed in. The event stream does not report it. */
export const accountSessionsQuery = queryOptions({
  queryKey: ['account', 'sessions'],
  queryFn: ({ signal }) => request<List<AccountSession>>('/account/sessions', { query: { limit: pageSize }, signal }),
  ...polled,
});

/** The access tokens of a project. The event stream does not report them. */
export const tokensQuery = (project: string) =>
  queryOptions({
    queryKey: ['project', project, null, 'tokens'],
    queryFn: ({ signal }) =>
      request<List<TokenView>>(pathOf('projects', project, 'tokens'), { query: { limit: pageSize }, signal }),
    ...polled,
  });
