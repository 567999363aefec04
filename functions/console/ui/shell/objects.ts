import { queryOptions, useQueries, useQuery } from '@tanstack/react-query';
import type { KeyView } from '../../../../runtime/contracts/api/keys.ts';
import type { PlanView } from '../../../../runtime/contracts/api/plans.ts';
import { pathOf, request } from '../api/client.ts';
import { listQuery, projectsQuery, type List } from '../api/queries.ts';
import type { WorkloadObject } from './entries.ts';

const kinds = ['app', 'function', 'job', 'service', 'volume'] as const;
const limit = 500;
/** Opening the palette again within this time shows what it read before. */
const staleTime = 5_000;

const accessQuery = <View>(list: 'api-keys' | 'plans', project: string, environment: string) =>
  queryOptions({
    queryKey: ['project', project, environment, 'palette', list],
    queryFn: ({ signal }) =>
      request<List<View>>(pathOf('projects', project, list), { query: { environment, limit }, signal }),
    staleTime,
  });

/** All that the palette can find: objects of the project in all environments, and keys and plans of this one. */
export function usePaletteObjects({
  project,
  environment,
}: {
  project?: string | undefined;
  environment?: string | undefined;
}) {
  const projects = useQuery(projectsQuery);
  // The API lists one environment at a time.
  const environments = projects.data?.items.find(({ name }) => name === project)?.environments ?? [];
  const sources = environments.flatMap(({ name }) => kinds.map((kind) => ({ kind, environment: name })));
  const lists = useQueries({
    queries: sources.map(({ kind, environment: of }) => ({
      ...listQuery(`${kind}s`, { project: project ?? '', environment: of }),
      staleTime,
    })),
  });
  const inEnvironment = { enabled: project !== undefined && environment !== undefined };
  const keys = useQuery({ ...accessQuery<KeyView>('api-keys', project ?? '', environment ?? ''), ...inEnvironment });
  const plans = useQuery({ ...accessQuery<PlanView>('plans', project ?? '', environment ?? ''), ...inEnvironment });
  const all = [...lists, keys, plans, projects];
  return {
    projects: projects.data?.items ?? [],
    objects: lists.flatMap(({ data }, index) => {
      const { kind = 'app', environment: of = '' } = sources[index] ?? {};
      const items: readonly { name: string; url?: string | undefined }[] = data?.items ?? [];
      return items.map(({ name, url }): WorkloadObject => ({ kind, name, environment: of, url }));
    }),
    keys: keys.data?.items ?? [],
    plans: plans.data?.items ?? [],
    isLoading: all.some(({ isLoading }) => isLoading),
    isPartial: all.some(({ error, data }) => error !== null || data?.nextCursor !== undefined),
  };
}
