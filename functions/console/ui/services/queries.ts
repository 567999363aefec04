import { queryOptions } from '@tanstack/react-query';
import type { ServiceView } from '../../../../runtime/contracts/api/services.ts';
import type { VolumeView } from '../../../../runtime/contracts/api/volumes.ts';
import { pathOf, request } from '../api/client.ts';
import { liveFor } from '../api/live.ts';
import type { Place } from '../api/queries.ts';

export const serviceQuery = ({ project, environment }: Place, name: string) =>
  queryOptions({
    queryKey: ['project', project, environment, 'service', name],
    queryFn: ({ signal }) =>
      request<ServiceView>(pathOf('projects', project, 'services', name), { query: { environment }, signal }),
    ...liveFor('Service'),
  });

/** Workloads mount volumes, so that changes of theirs change the answer too. */
export const volumeQuery = ({ project, environment }: Place, name: string) =>
  queryOptions({
    queryKey: ['project', project, environment, 'volume', name],
    queryFn: ({ signal }) =>
      request<VolumeView>(pathOf('projects', project, 'volumes', name), { query: { environment }, signal }),
    ...liveFor('Volume', 'App', 'Function', 'Job'),
  });
