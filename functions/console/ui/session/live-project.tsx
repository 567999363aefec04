import { useQueryClient, type QueryClient } from '@tanstack/react-query';
import { useEffect, useState, useSyncExternalStore } from 'react';
import type { WatchMessage } from '../../../../runtime/contracts/api/watch.ts';
import { createChanges } from '../api/changes.ts';
import { ApiError, pathOf, requestLines } from '../api/client.ts';
import { subscribeConnection, unreachableSince } from '../api/connection.ts';
import { sendAgain } from '../api/live.ts';
import { text } from '../text/common.ts';

/** Changes that come within this time are read together. */
const gatherMs = 200;
/** Without the stream, everything is read again this often. */
const fallbackMs = 5_000;

/**
 * Keeps what the pages show of a project up to date, by one event stream for the tab. A hidden tab has none: browsers
 * allow six connections to a host, for all tabs together. Says when the stream is interrupted.
 */
export function LiveProject({ project }: { project: string }) {
  const client = useQueryClient();
  const [isInterrupted, setInterrupted] = useState(false);
  // During an outage, the frame already says that the API does not answer.
  const isOutage = useSyncExternalStore(subscribeConnection, unreachableSince) !== undefined;
  useEffect(() => {
    const refresh = createRefresh(client, project);
    const changes = createChanges({
      open: (cursor, signal) =>
        requestLines<WatchMessage>(pathOf('projects', project, 'watch'), { query: { cursor }, signal, reports: false }),
      onChange: (change) => refresh.add(change),
      onInterrupted: setInterrupted,
      isFinal: (error) => error instanceof ApiError && [401, 403, 404].includes(error.status),
      pause,
    });
    const onVisibility = () => {
      refresh.pause(document.hidden);
      if (document.hidden) changes.stop();
      else changes.start();
    };
    onVisibility();
    document.addEventListener('visibilitychange', onVisibility);
    return () => {
      document.removeEventListener('visibilitychange', onVisibility);
      changes.stop();
      refresh.pause(true);
    };
  }, [client, project]);

  useEffect(() => {
    if (!isInterrupted) return undefined;
    const refresh = createRefresh(client, project);
    const timer = setInterval(() => refresh.add('all'), fallbackMs);
    return () => clearInterval(timer);
  }, [client, project, isInterrupted]);

  return (
    <p role="status" className="text-sm text-amber-800 empty:hidden dark:text-amber-300">
      {isInterrupted && !isOutage && text.notLive}
    </p>
  );
}

interface Refresh {
  /** Sends the queries again that show what has changed. */
  add(change: WatchMessage | 'all'): void;
  /** While it is paused, it keeps what it is given, and sends nothing. */
  pause(isPaused: boolean): void;
}

/** Sends queries again in rounds, one after the other, so that no change is missed and a burst costs each one request. */
function createRefresh(client: QueryClient, project: string): Refresh {
  const due: (WatchMessage | 'all')[] = [];
  const state = { isRunning: false, isPaused: false };
  const run = async () => {
    if (state.isRunning) return;
    state.isRunning = true;
    while (due.length > 0 && !state.isPaused) {
      await new Promise((resolve) => setTimeout(resolve, gatherMs));
      // It can be paused meanwhile.
      const changes = state.isPaused ? [] : due.splice(0);
      await sendAgain(client, project, changes);
    }
    state.isRunning = false;
  };
  return {
    add(change) {
      due.push(change);
      if (!state.isPaused) void run();
    },
    pause(value) {
      state.isPaused = value;
      if (!value) void run();
    },
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
