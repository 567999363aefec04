import { queryOptions } from '@tanstack/react-query';
import type { GateView } from '../../../../runtime/contracts/api/public-route.ts';
import type { DeliveryItem, DeliveryView, WebhookView } from '../../../../runtime/contracts/api/webhooks.ts';
import { pathOf, request } from '../api/client.ts';
import { live } from '../api/live.ts';
import type { List, Place } from '../api/queries.ts';

/** The keys of all queries about an app begin with this one. */
const appKey = ({ project, environment }: Place, app: string) => ['project', project, environment, 'app', app] as const;

export const gateQuery = (place: Place, app: string) =>
  queryOptions({
    queryKey: [...appKey(place, app), 'gate'],
    queryFn: ({ signal }) =>
      request<GateView>(pathOf('projects', place.project, 'apps', app, 'gate'), {
        query: { environment: place.environment },
        signal,
      }),
    ...live,
  });

/** The settings of a webhook, without its secrets: these are read on request, and not kept. */
export const webhookQuery = (place: Place, app: string) =>
  queryOptions({
    queryKey: [...appKey(place, app), 'webhook'],
    queryFn: async ({ signal }) => {
      const view = await request<WebhookView>(pathOf('projects', place.project, 'apps', app, 'webhook'), {
        query: { environment: place.environment },
        signal,
      });
      const { enabled, url, graceUntil, branch, tags, hasSecretUrl } = view;
      return { enabled, url, graceUntil, branch, tags, hasSecretUrl };
    },
    ...live,
  });

/** The newest deliveries of a webhook. */
export const deliveriesQuery = (place: Place, app: string) =>
  queryOptions({
    queryKey: [...appKey(place, app), 'deliveries'],
    queryFn: ({ signal }) =>
      request<List<DeliveryItem>>(pathOf('projects', place.project, 'apps', app, 'webhook', 'deliveries'), {
        query: { environment: place.environment, limit: 50 },
        signal,
      }),
    ...live,
  });

/** A delivery with its body. */
export const deliveryQuery = (place: Place, app: string, id: string) =>
  queryOptions({
    queryKey: [...appKey(place, app), 'deliveries', id],
    queryFn: ({ signal }) =>
      request<DeliveryView>(pathOf('projects', place.project, 'apps', app, 'webhook', 'deliveries', id), {
        query: { environment: place.environment },
        signal,
      }),
    ...live,
  });
