import { queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { GateChange } from '../../../../runtime/contracts/api/gate.ts';
import type { KeyView } from '../../../../runtime/contracts/api/keys.ts';
import type { PlanView } from '../../../../runtime/contracts/api/plans.ts';
import type { usageView } from '../../../../runtime/contracts/api/usage.ts';
import { pathOf, request } from '../api/client.ts';
import { liveFor, polled } from '../api/live.ts';
import type { List, Place } from '../api/queries.ts';
import { allItems } from './plan-choice.ts';

export type UsageView = z.infer<typeof usageView>;

const pageSize = 500;
/** Replicas apply a change within a second or two. */
const waitSeconds = 10;

export const plansQuery = ({ project, environment }: Place) =>
  queryOptions({
    queryKey: ['project', project, environment, 'plans'],
    queryFn: ({ signal }) =>
      request<List<PlanView>>(pathOf('projects', project, 'plans'), {
        query: { environment, limit: pageSize },
        signal,
      }),
    ...liveFor('Plan', 'Key'),
  });

/** The names of all plans, however many there are. */
export const planNamesQuery = ({ project, environment }: Place) =>
  queryOptions({
    queryKey: ['project', project, environment, 'plans', 'names'],
    queryFn: async ({ signal }) => {
      const plans = await allItems((cursor) =>
        request<List<PlanView>>(pathOf('projects', project, 'plans'), {
          query: { environment, limit: pageSize, cursor },
          signal,
        }),
      );
      return plans.map(({ name }) => name);
    },
    ...liveFor('Plan'),
  });

export const keysQuery = ({ project, environment }: Place) =>
  queryOptions({
    queryKey: ['project', project, environment, 'keys'],
    queryFn: ({ signal }) =>
      request<List<KeyView>>(pathOf('projects', project, 'api-keys'), {
        query: { environment, limit: pageSize },
        signal,
      }),
    ...liveFor('Key', 'Plan'),
    ...polled,
  });

/** What the gate counts comes without a message of the stream. @param key a handle */
export const keyQuery = ({ project, environment }: Place, key: string) =>
  queryOptions({
    queryKey: ['project', project, environment, 'keys', key],
    queryFn: ({ signal }) =>
      request<KeyView>(pathOf('projects', project, 'api-keys', key), { query: { environment }, signal }),
    ...liveFor('Key', 'Plan'),
    ...polled,
  });

/** The last 90 days of a key. @param key a handle */
export const usageQuery = ({ project, environment }: Place, key: string) =>
  queryOptions({
    queryKey: ['project', project, environment, 'keys', key, 'usage'],
    queryFn: ({ signal }) =>
      request<UsageView>(pathOf('projects', project, 'api-keys', key, 'usage'), { query: { environment }, signal }),
    ...polled,
  });

/** Waits until the replicas of the gate have applied a change. */
export const gateChangeQuery = (version: number) =>
  queryOptions({
    queryKey: ['gate', 'change', version],
    queryFn: ({ signal }) =>
      request<GateChange>(pathOf('gate', 'changes', String(version)), { query: { wait: waitSeconds }, signal }),
    staleTime: Infinity,
  });
