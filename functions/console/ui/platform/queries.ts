import { queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { alertList, silenceList } from '../../../../runtime/contracts/api/alerts.ts';
import type { AssistantSettingsView } from '../../../../runtime/contracts/api/assistant.ts';
import type { GateStatus } from '../../../../runtime/contracts/api/gate.ts';
import type { ControllerHealth } from '../../../../runtime/contracts/api/health.ts';
import type { LogDrainView } from '../../../../runtime/contracts/api/log-drain.ts';
import type { PlatformConfigView, PlatformStatus } from '../../../../runtime/contracts/api/platform.ts';
import { ApiError, request, requestHealth } from '../api/client.ts';
import { polled } from '../api/live.ts';

export const statusQuery = queryOptions({
  queryKey: ['platform', 'status'],
  queryFn: ({ signal }) => request<PlatformStatus>('/platform/status', { signal }),
  ...polled,
});

export const controllersQuery = queryOptions({
  queryKey: ['platform', 'controllers'],
  queryFn: ({ signal }) => requestHealth<ControllerHealth>('/health/controllers', signal),
  ...polled,
});

export const gateStatusQuery = queryOptions({
  queryKey: ['platform', 'gate'],
  queryFn: ({ signal }) => request<GateStatus>('/gate/status', { signal }),
  ...polled,
});

/** The controllers check a change within a moment, and a test line is sent at once. */
const pendingMs = 1_000;

export const configQuery = queryOptions({
  queryKey: ['platform', 'config'],
  queryFn: ({ signal }) => request<PlatformConfigView>('/platform/config', { signal }),
  ...polled,
  refetchInterval: ({ state: { data } }) => (data?.status === 'pending' ? pendingMs : polled.refetchInterval),
});

export const alertsQuery = queryOptions({
  queryKey: ['platform', 'alerts'],
  queryFn: ({ signal }) => request<z.infer<typeof alertList>>('/platform/alerts', { signal }),
  ...polled,
});

/** The provider of the assistant; null when there is none. */
export const providerQuery = queryOptions({
  queryKey: ['platform', 'assistant'],
  queryFn: async ({ signal }) => {
    try {
      return await request<AssistantSettingsView>('/platform/assistant', { signal });
    } catch (error) {
      if (error instanceof ApiError && error.code === 'not_found') return null;
      throw error;
    }
  },
  ...polled,
});

/** The log drain; null when there is none. */
export const logDrainQuery = queryOptions({
  queryKey: ['platform', 'log-drain'],
  queryFn: async ({ signal }) => {
    try {
      return await request<LogDrainView>('/platform/log-drain', { signal });
    } catch (error) {
      if (error instanceof ApiError && error.code === 'not_found') return null;
      throw error;
    }
  },
  ...polled,
  refetchInterval: ({ state: { data } }) => (data?.test?.status === 'pending' ? pendingMs : polled.refetchInterval),
});

export const silencesQuery = queryOptions({
  queryKey: ['platform', 'silences'],
  queryFn: ({ signal }) => request<z.infer<typeof silenceList>>('/platform/alerts/silences', { signal }),
  ...polled,
});
