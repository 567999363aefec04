import { queryOptions } from '@tanstack/react-query';
import type { ImageView } from '../../../../runtime/contracts/api/images.ts';
import { pathOf, request } from '../api/client.ts';
import { liveFor, polled } from '../api/live.ts';
import type { List, Place } from '../api/queries.ts';

const pageSize = 500;

/** The images of an environment. The end of a deletion comes without a message of the stream. @param app only of this one */
export const imagesQuery = ({ project, environment }: Place, app: string | undefined) =>
  queryOptions({
    queryKey: ['project', project, environment, 'images', app],
    queryFn: ({ signal }) =>
      request<List<ImageView>>(pathOf('projects', project, 'images'), {
        query: { environment, app, limit: pageSize },
        signal,
      }),
    ...liveFor('Deployment', 'App'),
    ...polled,
  });
