import { queryOptions } from '@tanstack/react-query';
import type { AuditEntryView } from '../../../../runtime/contracts/api/audit.ts';
import { pathOf, request } from '../api/client.ts';
import { live, polled } from '../api/live.ts';
import type { List } from '../api/queries.ts';
import { ranges, type AuditSearch } from './search.ts';

const pageSize = 50;

function parametersOf({ since, before, ...filters }: AuditSearch) {
  return {
    ...filters,
    since: since && new Date(Date.now() - ranges[since] * 1000).toISOString(),
    cursor: before,
    limit: pageSize,
  };
}

/** A page of the audit log of a project. Most entries come with a change that the event stream reports. */
export const projectAuditQuery = (project: string, search: AuditSearch) =>
  queryOptions({
    queryKey: ['project', project, null, 'audit', search],
    queryFn: ({ signal }) =>
      request<List<AuditEntryView>>(pathOf('projects', project, 'audit'), {
        // The address of the platform's log has a project as a filter.
        query: { ...parametersOf(search), project: undefined },
        signal,
      }),
    ...polled,
    ...live,
  });

/** A page of the audit log of the whole platform. */
export const platformAuditQuery = (search: AuditSearch) =>
  queryOptions({
    queryKey: ['platform', 'audit', search],
    queryFn: ({ signal }) => request<List<AuditEntryView>>('/platform/audit', { query: parametersOf(search), signal }),
    ...polled,
  });
