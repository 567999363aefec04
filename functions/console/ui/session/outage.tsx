import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import { request } from '../api/client.ts';
import { reportUnreachable, subscribeConnection, unreachableSince } from '../api/connection.ts';
import { Note } from '../parts/note.tsx';
import { text } from '../text/common.ts';

const firstMs = 1_000;
const longestMs = 15_000;
/** A connection that is dead would keep the question for minutes. */
const probeMs = 10_000;

/**
 * Says that the API does not answer, over the end of the page so that nothing moves, and asks whether it does again. Then
 * the page reads what it shows.
 */
export function Outage() {
  const since = useSyncExternalStore(subscribeConnection, unreachableSince);
  const client = useQueryClient();
  useEffect(() => {
    window.addEventListener('offline', reportUnreachable);
    return () => window.removeEventListener('offline', reportUnreachable);
  }, []);
  useEffect(() => {
    if (since === undefined) return undefined;
    const stop = probe();
    return () => {
      stop();
      if (unreachableSince() === undefined) void client.invalidateQueries();
    };
  }, [since, client]);
  return (
    since !== undefined && (
      <div className="fixed inset-x-0 bottom-0 z-10 p-4">
        <div className="mx-auto max-w-xl shadow-lg">
          <Note look="warn">{text.errors.outage(new Date(since).toLocaleTimeString('en'))}</Note>
        </div>
      </div>
    )
  );
}

/**
 * Asks the API until it answers, ever less often, and only while the tab is visible.
 * @returns stops it
 */
function probe(): () => void {
  const stop = new AbortController();
  const { signal } = stop;
  let [waitMs, isAsking] = [firstMs, false];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const askNow = () => void ask();
  const ask = async () => {
    clearTimeout(timer);
    if (isAsking || document.hidden) return;
    isAsking = true;
    // What it answers does not matter: `request` reports that it did.
    await request('/session', { signal: AbortSignal.any([signal, AbortSignal.timeout(probeMs)]) }).catch(
      () => undefined,
    );
    isAsking = false;
    if (signal.aborted) return;
    timer = setTimeout(askNow, waitMs);
    waitMs = Math.min(waitMs * 2, longestMs);
  };
  timer = setTimeout(askNow, waitMs);
  window.addEventListener('online', askNow, { signal });
  document.addEventListener('visibilitychange', askNow, { signal });
  return () => {
    clearTimeout(timer);
    stop.abort();
  };
}
