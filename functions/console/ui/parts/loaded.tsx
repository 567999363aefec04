import type { UseQueryResult } from '@tanstack/react-query';
import { isOutage } from '../api/client.ts';
import { text } from '../text/common.ts';
import { ErrorNote } from './note.tsx';

/**
 * Shows what a query returned. Data that was read before stays visible under the error of a later attempt. Of an outage,
 * the frame tells once for all of the page.
 */
export function Loaded<Data>({
  query,
  children,
}: {
  query: UseQueryResult<Data>;
  children: (data: Data) => React.ReactNode;
}) {
  const { data, error, refetch } = query;
  const isToldByFrame = data !== undefined && isOutage(error);
  return (
    <>
      {error && !isToldByFrame && <ErrorNote error={error} retry={() => void refetch()} />}
      {data !== undefined && children(data)}
      {data === undefined && !error && (
        <p role="status" className="py-6 text-sm text-zinc-600 dark:text-zinc-400">
          {text.loading}
        </p>
      )}
    </>
  );
}
