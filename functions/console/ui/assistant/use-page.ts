import { useQuery } from '@tanstack/react-query';
import { useParams, useRouterState } from '@tanstack/react-router';
import { historyQuery } from '../api/queries.ts';
import { deploymentOf, type Address } from './page.ts';

/** What the address says of the page behind the panel, and the deployment that it is about. */
export function usePage() {
  const params: Address['params'] & { project?: string } = useParams({ strict: false });
  const pathname = useRouterState({ select: ({ location }) => location.pathname });
  const search = useRouterState({ select: ({ location }) => location.search as Record<string, unknown> });
  const { project, environment = '', app } = params;
  const place = { project: project ?? '', environment };
  const history = useQuery({ ...historyQuery(place, app ?? ''), enabled: app !== undefined });
  const address: Address = { pathname, params, search };
  return { project, address, deployment: deploymentOf(address, history.data?.items ?? []) };
}
