import { queryOptions } from '@tanstack/react-query';
import type { DeliveryView, NotificationView } from '../../../../runtime/contracts/api/notifications.ts';
import { pathOf, request } from '../api/client.ts';
import { liveFor, polled } from '../api/live.ts';
import type { List } from '../api/queries.ts';
import type { NotificationOwner } from './owner.ts';

const pageSize = 500;
/** Of the messages of a target, a page shows the newest. */
const deliveriesSize = 50;

/** The event stream of a project reports changes of its notifications. No stream reports those of the platform. */
const optionsOf = ({ project }: NotificationOwner) => (project === undefined ? polled : liveFor('Notification'));

/** The notification targets. Their URLs can contain a secret, so they are gone with the page. */
export const notificationsQuery = (owner: NotificationOwner) =>
  queryOptions({
    queryKey: owner.key,
    queryFn: ({ signal }) =>
      request<List<NotificationView>>(pathOf(...owner.path), { query: { limit: pageSize }, signal }),
    gcTime: 0,
    ...optionsOf(owner),
  });

/** The newest messages to a target. @param id of the target */
export const deliveriesQuery = (owner: NotificationOwner, id: string) =>
  queryOptions({
    queryKey: [...owner.key, id, 'deliveries'],
    queryFn: ({ signal }) =>
      request<List<DeliveryView>>(pathOf(...owner.path, id, 'deliveries'), {
        query: { limit: deliveriesSize },
        signal,
      }),
    ...optionsOf(owner),
  });

/** One message to a target, with its last attempt. */
export const deliveryQuery = (owner: NotificationOwner, id: string, delivery: string) =>
  queryOptions({
    queryKey: [...owner.key, id, 'deliveries', delivery],
    queryFn: ({ signal }) => request<DeliveryView>(pathOf(...owner.path, id, 'deliveries', delivery), { signal }),
    ...optionsOf(owner),
  });
