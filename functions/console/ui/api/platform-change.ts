import { useMutation, useQueryClient } from '@tanstack/react-query';
import { ApiError, pathOf, request, type RequestOptions } from './client.ts';

export interface PlatformRequest extends RequestOptions {
  /** The parts of the path. */
  path: readonly string[];
}

/**
 * A request that changes something of the platform or the account, outside of projects. Afterwards, what the page shows of it is read
 * again, also after a conflict, because what the page showed was old. The result is not kept longer than the part that made the request, because it can be a password.
 * @param key the first part of the keys of the queries that show it
 */
export function usePlatformChange<Result>(
  key: 'platform' | 'users' | 'account',
  done?: (result: Result, request: PlatformRequest) => void,
) {
  const client = useQueryClient();
  const readAgain = () => client.invalidateQueries({ queryKey: [key] });
  return useMutation({
    mutationFn: ({ path, ...options }: PlatformRequest) => request<Result>(pathOf(...path), options),
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
