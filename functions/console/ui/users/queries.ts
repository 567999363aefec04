import { queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { userWithPassword, UserView } from '../../../../runtime/contracts/api/users.ts';
import { pathOf, request } from '../api/client.ts';
import { polled } from '../api/live.ts';
import type { List } from '../api/queries.ts';

export type UserWithPassword = z.infer<typeof userWithPassword>;

const pageSize = 100;

/** One page of the users, by email address. @param after the cursor of the page; undefined for the first */
export const usersQuery = (after: string | undefined) =>
  queryOptions({
    queryKey: ['users', 'list', after],
    queryFn: ({ signal }) => request<List<UserView>>('/users', { query: { limit: pageSize, cursor: after }, signal }),
    ...polled,
  });

/** @param user an email address or ID */
export const userQuery = (user: string) =>
  queryOptions({
    queryKey: ['users', 'one', user],
    queryFn: ({ signal }) => request<UserView>(pathOf('users', user), { signal }),
    ...polled,
  });
