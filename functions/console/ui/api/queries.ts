import { queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { AppView, DeploymentView } from '../../../../runtime/contracts/api/apps.ts';
import type { FunctionView } from '../../../../runtime/contracts/api/functions.ts';
import type { JobView } from '../../../../runtime/contracts/api/jobs.ts';
import type { topView } from '../../../../runtime/contracts/api/metrics.ts';
import type { ProjectView } from '../../../../runtime/contracts/api/projects.ts';
import type { ServiceView } from '../../../../runtime/contracts/api/services.ts';
import type { sessionView } from '../../../../runtime/contracts/api/sessions.ts';
import type { WatchKind } from '../../../../runtime/contracts/api/watch.ts';
import type { VolumeView } from '../../../../runtime/contracts/api/volumes.ts';
import { ApiError, pathOf, request } from './client.ts';
import { live, liveFor, polled } from './live.ts';

export type SessionView = z.infer<typeof sessionView>;
export type TopView = z.infer<typeof topView>;

/** One page of a list, as large as the API allows. */
export interface List<Item> {
  items: Item[];
  nextCursor?: string;
}

/** The place of a page: an environment of a project. */
export interface Place {
  project: string;
  environment: string;
}

const pageSize = 500;
/** The API keeps the history of an app; a page shows its newest part. */
const historySize = 50;

/** Null when nobody is signed in. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal }) => {
    try {
      return await request<SessionView>('/session', { signal });
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return null;
      throw error;
    }
  },
  staleTime: 60_000,
});

export const projectsQuery = queryOptions({
  queryKey: ['projects'],
  queryFn: ({ signal }) => request<List<ProjectView>>('/projects', { query: { limit: pageSize }, signal }),
  ...polled,
});

export const projectQuery = (project: string) =>
  queryOptions({
    queryKey: ['project', project],
    queryFn: ({ signal }) => request<ProjectView>(pathOf('projects', project), { signal }),
    ...liveFor('Project', 'Member'),
  });

/** The keys of all queries about an environment begin with this one. */
const placeKey = ({ project, environment }: Place) => ['project', project, environment] as const;

interface Workloads {
  apps: AppView;
  functions: FunctionView;
  jobs: JobView;
  services: ServiceView;
  volumes: VolumeView;
}

const kindOf = {
  apps: 'App',
  functions: 'Function',
  jobs: 'Job',
  services: 'Service',
  volumes: 'Volume',
} as const satisfies Record<keyof Workloads, WatchKind>;

/** The list of a kind in an environment. */
export function listQuery<Kind extends keyof Workloads>(kind: Kind, place: Place) {
  const { project, environment } = place;
  return queryOptions({
    queryKey: [...placeKey(place), kind],
    queryFn: ({ signal }) =>
      request<List<Workloads[Kind]>>(pathOf('projects', project, kind), {
        query: { environment, limit: pageSize },
        signal,
      }),
    ...liveFor(kindOf[kind]),
  });
}

export const topQuery = (place: Place) =>
  queryOptions({
    queryKey: [...placeKey(place), 'top'],
    queryFn: ({ signal }) =>
      request<TopView>(pathOf('projects', place.project, 'top'), {
        query: { environment: place.environment, history: true },
        signal,
      }),
    ...polled,
  });

/** The newest deployments of all apps of an environment. */
export const deploymentsQuery = (place: Place) =>
  queryOptions({
    queryKey: [...placeKey(place), 'deployments'],
    queryFn: ({ signal }) =>
      request<List<DeploymentView>>(pathOf('projects', place.project, 'deployments'), {
        query: { environment: place.environment, limit: 100 },
        signal,
      }),
    ...liveFor('Deployment', 'App'),
  });

export const appQuery = (place: Place, app: string) =>
  queryOptions({
    queryKey: [...placeKey(place), 'app', app],
    queryFn: ({ signal }) =>
      request<AppView>(pathOf('projects', place.project, 'apps', app), {
        query: { environment: place.environment },
        signal,
      }),
    ...live,
  });

export const historyQuery = (place: Place, app: string) =>
  queryOptions({
    queryKey: [...placeKey(place), 'app', app, 'history'],
    queryFn: ({ signal }) =>
      request<List<DeploymentView>>(pathOf('projects', place.project, 'apps', app, 'history'), {
        query: { environment: place.environment, limit: historySize },
        signal,
      }),
    ...liveFor('Deployment', 'App'),
  });
