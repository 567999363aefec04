import { useMutation, useQueryClient } from '@tanstack/react-query';
import { ApiError, pathOf, request, type RequestOptions } from '../api/client.ts';
import type { NotificationOwner } from './owner.ts';

interface NotificationRequest extends RequestOptions {
  /** The parts of the path below the owner's notifications. */
  path: readonly string[];
}

/** A request that changes a notification; what the page shows of them is read again. The result can be a secret. */
export function useNotificationChange<Result>(owner: NotificationOwner, done?: (result: Result) => void) {
  const client = useQueryClient();
  const readAgain = () => client.invalidateQueries({ queryKey: owner.key });
  return useMutation({
    mutationFn: ({ path, ...options }: NotificationRequest) => request<Result>(pathOf(...owner.path, ...path), options),
    onSuccess: async (result) => {
      done?.(result);
      await readAgain();
    },
    onError: async (error) => {
      if (error instanceof ApiError && error.status === 409) await readAgain();
    },
    gcTime: 0,
  });
}
