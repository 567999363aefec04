import { queryOptions } from '@tanstack/react-query';
import type { GateView } from '../../../../runtime/contracts/api/public-route.ts';
import { pathOf, request } from '../api/client.ts';
import { live } from '../api/live.ts';
import type { Place } from '../api/queries.ts';

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
