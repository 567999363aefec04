import type { UseQueryResult } from '@tanstack/react-query';
import { text } from '../text/common.ts';
import { ErrorNote } from './note.tsx';

/**
 * Shows what a query returned. Data that was read before stays visible under the error of a later attempt, so that a
 * short outage of the API takes nothing off the page.
 */
export function Loaded<Data>({
  query,
  children,
}: {
  query: UseQueryResult<Data>;
  children: (data: Data) => React.ReactNode;
}) {
  const { data, error, refetch } = query;
  return (
    <>
      {error && <ErrorNote error={error} retry={() => void refetch()} />}
      {data !== undefined && children(data)}
      {data === undefined && !error && (
        <p role="status" className="py-6 text-sm text-zinc-600 dark:text-zinc-400">
          {text.loading}
        </p>
      )}
    </>
  );
}
