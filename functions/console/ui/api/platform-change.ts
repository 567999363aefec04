import { useMutation, useQueryClient } from '@tanstack/react-query';
import { pathOf, request, type RequestOptions } from './client.ts';

export interface PlatformRequest extends RequestOptions {
  /** The parts of the path. */
  path: readonly string[];
}

/**
 * A request that changes something of the platform, outside of projects. Afterwards, what the page shows of it is read
 * again. The result is not kept longer than the part that made the request, because it can be a password.
 * @param key the first part of the keys of the queries that show it
 */
export function usePlatformChange<Result>(
  key: 'platform' | 'users',
  done?: (result: Result, request: PlatformRequest) => void,
) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ path, ...options }: PlatformRequest) => request<Result>(pathOf(...path), options),
    onSuccess: async (result, change) => {
      done?.(result, change);
      await client.invalidateQueries({ queryKey: [key] });
    },
    gcTime: 0,
  });
}
