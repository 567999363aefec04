import { queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { deploymentLogs, DeploymentView } from '../../../../runtime/contracts/api/apps.ts';
import type { buildLogView, BuildView, GitSourceView } from '../../../../runtime/contracts/api/git.ts';
import type { RevisionView } from '../../../../runtime/contracts/api/revisions.ts';
import type { DeliveryItem, DeliveryView, WebhookView } from '../../../../runtime/contracts/api/webhooks.ts';
import { pathOf, request } from '../api/client.ts';
import { live, liveFor, polled } from '../api/live.ts';
import type { List, Place } from '../api/queries.ts';

/** The keys of all queries about an app begin with this one. */
const appKey = ({ project, environment }: Place, app: string) => ['project', project, environment, 'app', app] as const;

/** The settings of a webhook, without its secrets: these are read on request, and not kept. */
export const webhookQuery = (place: Place, app: string) =>
  queryOptions({
    queryKey: [...appKey(place, app), 'webhook'],
    queryFn: async ({ signal }) => {
      const view = await request<WebhookView>(pathOf('projects', place.project, 'apps', app, 'webhook'), {
        query: { environment: place.environment },
        signal,
      });
      const { enabled, url, version = 0, graceUntil, branch, tags, hasSecretUrl } = view;
      return { enabled, url, version, graceUntil, branch, tags, hasSecretUrl };
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

/** The git source of an app; no event tells when the repository was checked. */
export const gitQuery = (place: Place, app: string) =>
  queryOptions({
    queryKey: [...appKey(place, app), 'git'],
    queryFn: ({ signal }) =>
      request<GitSourceView>(pathOf('projects', place.project, 'apps', app, 'git'), {
        query: { environment: place.environment },
        signal,
      }),
    ...live,
    ...polled,
  });

/**
 * The deployment that an app runs, as a dialog shows it; null before the first. It is read when the dialog opens, and
 * not again when it changes, so that the user confirms what the dialog showed.
 */
export const currentQuery = (place: Place, app: string) =>
  queryOptions({
    queryKey: ['current deployment', place.project, place.environment, app],
    queryFn: async ({ signal }) => {
      const { items } = await request<List<DeploymentView>>(pathOf('projects', place.project, 'deployments'), {
        query: { environment: place.environment, app, status: 'succeeded', limit: 1 },
        signal,
      });
      return items.find(({ current }) => current) ?? null;
    },
    staleTime: Infinity,
    gcTime: 0,
  });

const readRevision = (
  { project, environment }: Place,
  app: string,
  { revision, compareWith }: { revision: number; compareWith: number | 'now' },
  signal: AbortSignal,
) =>
  request<RevisionView>(pathOf('projects', project, 'apps', app, 'revisions', String(revision)), {
    query: { environment, compareWith },
    signal,
  });

/** A revision and what differs from an earlier one. */
export const revisionQuery = (place: Place, app: string, revision: number, before: number) =>
  queryOptions({
    queryKey: [...appKey(place, app), 'revision', revision, before],
    queryFn: ({ signal }) => readRevision(place, app, { revision, compareWith: before }, signal),
    ...liveFor('Deployment', 'App'),
  });

/** A revision and what differs from the current state of the app: read once, as {@link currentQuery}. */
export const rollbackQuery = (place: Place, app: string, revision: number) =>
  queryOptions({
    queryKey: ['rollback', place.project, place.environment, app, revision],
    queryFn: ({ signal }) => readRevision(place, app, { revision, compareWith: 'now' }, signal),
    staleTime: Infinity,
    gcTime: 0,
  });

/** How often the log of a deployment in progress is read. */
const deploymentLogIntervalMs = 2_000;

/** The newest builds of all apps of an environment. */
export const buildsQuery = ({ project, environment }: Place) =>
  queryOptions({
    queryKey: ['project', project, environment, 'builds'],
    queryFn: ({ signal }) =>
      request<List<BuildView>>(pathOf('projects', project, 'builds'), { query: { environment, limit: 100 }, signal }),
    ...live,
  });

/** The log of a deployment. The event stream reports its state, and not its lines. @param deployment an id */
export const deploymentLogQuery = ({ project, environment }: Place, deployment: string, isActive: boolean) =>
  queryOptions({
    queryKey: ['project', project, environment, 'deployment log', deployment],
    queryFn: ({ signal }) =>
      request<z.infer<typeof deploymentLogs>>(pathOf('projects', project, 'deployments', deployment, 'logs'), {
        signal,
      }),
    ...liveFor('Deployment'),
    refetchInterval: isActive ? deploymentLogIntervalMs : false,
  });

type BuildLog = z.infer<typeof buildLogView>;

/** How often the log of a build in progress is read on. */
const buildLogIntervalMs = 1_000;

/** The log of a build; each read continues where the one before ended. @param deployment an id */
export const buildLogQuery = (place: Place, deployment: string) =>
  queryOptions({
    queryKey: ['project', place.project, place.environment, 'build log', deployment],
    queryFn: async ({ client, queryKey, signal }): Promise<BuildLog> => {
      const before = client.getQueryData<BuildLog>(queryKey);
      const next = await request<BuildLog>(pathOf('projects', place.project, 'builds', deployment, 'logs'), {
        query: { offset: before?.offset ?? 0 },
        signal,
      });
      return { ...next, log: `${before?.log ?? ''}${next.log}` };
    },
    staleTime: Infinity,
    refetchInterval: ({ state }) => (state.data?.ended ? false : buildLogIntervalMs),
  });
