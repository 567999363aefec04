import { useMutation, useQueryClient } from '@tanstack/react-query';
import { ApiError, pathOf, request, type RequestOptions } from './client.ts';
import { projectsQuery, type Place } from './queries.ts';

export interface ChangeRequest extends RequestOptions {
  /** The parts of the path below the project. */
  path: readonly string[];
}

/**
 * A request that changes something in an environment. Afterwards, all that the page shows of the environment is read
 * again, also after a conflict, because what the page showed was old. The result is not kept longer than the part that
 * made the request, because it can be a key or a token.
 */
export function useChange<Result>(
  { project, environment }: Place,
  done?: (result: Result, request: ChangeRequest) => void,
) {
  const client = useQueryClient();
  const readAgain = () => client.invalidateQueries({ queryKey: ['project', project, environment] });
  return useMutation({
    mutationFn: ({ path, query, ...options }: ChangeRequest) =>
      request<Result>(pathOf('projects', project, ...path), { ...options, query: { environment, ...query } }),
    onSuccess: async (result, change) => {
      done?.(result, change);
      await readAgain();
    },
    onError: async (error) => {
      if (error instanceof ApiError && error.status === 409) await readAgain();
    },
    gcTime: 0,
  });
}

/**
 * A request that changes something of a project as a whole, such as a member. As {@link useChange}; the list of projects
 * is read again, too.
 */
export function useProjectChange<Result>(project: string, done?: (result: Result, request: ChangeRequest) => void) {
  const client = useQueryClient();
  const readAgain = async () => {
    await Promise.all([
      client.invalidateQueries({ queryKey: ['project', project] }),
      client.invalidateQueries({ queryKey: projectsQuery.queryKey }),
    ]);
  };
  return useMutation({
    mutationFn: ({ path, ...options }: ChangeRequest) => request<Result>(pathOf('projects', project, ...path), options),
    onSuccess: async (result, change) => {
      done?.(result, change);
      await readAgain();
    },
    onError: async (error) => {
      if (error instanceof ApiError && error.status === 409) await readAgain();
    },
    gcTime: 0,
  });
}
