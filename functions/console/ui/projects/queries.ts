import { queryOptions } from '@tanstack/react-query';
import type { MemberView } from '../../../../runtime/contracts/api/members.ts';
import type { DeliveryView, NotificationView } from '../../../../runtime/contracts/api/notifications.ts';
import { pathOf, request } from '../api/client.ts';
import { liveFor } from '../api/live.ts';
import type { List } from '../api/queries.ts';

const pageSize = 500;
/** Of the messages of a target, a page shows the newest. */
const deliveriesSize = 50;

/** The users with a role in a project. Keys of what belongs to no environment have null in its place. */
export const membersQuery = (project: string) =>
  queryOptions({
    queryKey: ['project', project, null, 'members'],
    queryFn: ({ signal }) =>
      request<List<MemberView>>(pathOf('projects', project, 'members'), { query: { limit: pageSize }, signal }),
    ...liveFor('Member'),
  });

/** The notification targets of a project. Their URLs can contain a secret, so they are gone with the page. */
export const notificationsQuery = (project: string) =>
  queryOptions({
    queryKey: ['project', project, null, 'notifications'],
    queryFn: ({ signal }) =>
      request<List<NotificationView>>(pathOf('projects', project, 'notifications'), {
        query: { limit: pageSize },
        signal,
      }),
    gcTime: 0,
    ...liveFor('Notification'),
  });

/** The newest messages to a target. @param id of the target */
export const deliveriesQuery = (project: string, id: string) =>
  queryOptions({
    queryKey: ['project', project, null, 'notifications', id, 'deliveries'],
    queryFn: ({ signal }) =>
      request<List<DeliveryView>>(pathOf('projects', project, 'notifications', id, 'deliveries'), {
        query: { limit: deliveriesSize },
        signal,
      }),
    ...liveFor('Notification'),
  });

/** One message to a target, with its last attempt. */
export const deliveryQuery = (project: string, id: string, delivery: string) =>
  queryOptions({
    queryKey: ['project', project, null, 'notifications', id, 'deliveries', delivery],
    queryFn: ({ signal }) =>
      request<DeliveryView>(pathOf('projects', project, 'notifications', id, 'deliveries', delivery), { signal }),
    ...liveFor('Notification'),
  });
