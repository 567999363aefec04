import { isOutage } from '../api/client.ts';
import { text } from '../text/common.ts';
import { ErrorNote } from './note.tsx';

/** The part of the result of a query that {@link Loaded} needs. */
interface LoadedQuery<Data> {
  data: Data | undefined;
  error: unknown;
  refetch: () => unknown;
}

/**
 * Shows what a query returned. Data that was read before stays visible under the error of a later attempt. Of an outage,
 * the frame tells once for all of the page.
 */
export function Loaded<Data>({
  query,
  children,
}: {
  query: LoadedQuery<Data>;
  children: (data: Data) => React.ReactNode;
}) {
  const { data, error, refetch } = query;
  const isToldByFrame = data !== undefined && isOutage(error);
  return (
    <>
      {error !== null && !isToldByFrame && <ErrorNote error={error} retry={() => refetch()} />}
      {data !== undefined && children(data)}
      {data === undefined && error === null && (
        <p role="status" className="py-6 text-sm text-zinc-600 dark:text-zinc-400">
          {text.loading}
        </p>
      )}
    </>
  );
}
