import { useQuery } from '@tanstack/react-query';
import { useDeferredValue, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { commandOf, placeFlags } from '../api/command.ts';
import { pathOf } from '../api/client.ts';
import { sessionQuery } from '../api/queries.ts';
import { Button, buttonLook } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { Time } from '../parts/time.tsx';
import { text } from '../text/common.ts';
import { logText } from '../text/logs.ts';
import { pathBelow, type Workload } from '../workloads/workload.ts';
import { contains } from './ansi.ts';
import type { Line } from './lines.ts';
import { LogControls } from './log-controls.tsx';
import { LogLines, type FocusRequest } from './log-lines.tsx';
import { readLog, type LogReader, type LogState } from './reader.ts';
import { ranges, type LogSearch } from './search.ts';

interface LogViewerProps {
  workload: Workload;
  /** What the address says, and how to change it. */
  search: LogSearch;
  change: (change: Partial<LogSearch>) => void;
}

const waiting: LogState = { isRead: false, hasOlder: false, isFollowing: false };
const none: readonly Line[] = [];

/** The log of a workload, of all its pods together. */
export function LogViewer({ workload, search, change }: LogViewerProps) {
  const { place, kind, name } = workload;
  const path = pathOf('projects', place.project, ...pathBelow(workload, 'logs'));
  const { environment } = place;
  const { since = '1h', level, pod, at, nofollow } = search;
  const [reader, setReader] = useState<LogReader>();
  const [attempt, setAttempt] = useState(0);
  // A reading ends with the session, and begins again with the next one.
  const isSignedIn = Boolean(useQuery(sessionQuery).data);
  useEffect(() => {
    if (!isSignedIn) return undefined;
    const range = { sinceSeconds: ranges[since], level, pod, at };
    const next = readLog({ path, environment, range, follows: !nofollow });
    const show = () => next.show(!document.hidden);
    show();
    document.addEventListener('visibilitychange', show);
    setReader(next);
    return () => {
      document.removeEventListener('visibilitychange', show);
      next.stop();
    };
  }, [path, environment, since, level, pod, at, nofollow, isSignedIn, attempt]);
  const state = useSyncExternalStore(reader?.subscribe ?? never, reader?.state ?? (() => waiting));
  const items = useSyncExternalStore(reader?.lines.subscribe ?? never, reader?.lines.items ?? (() => none));
  const { matches, current, step } = useMatches(items, search.q ?? '');
  const flags = placeFlags(place);
  const focusRequest = useRef<FocusRequest>(undefined);
  const showNewest = (event: React.MouseEvent) => {
    // The keyboard clicks without a pointer, and the button that it was at goes away.
    if (event.detail === 0) focusRequest.current = 'log';
    change({ at: undefined });
  };
  return (
    <div className="flex flex-col gap-3">
      <LogControls
        search={search}
        change={change}
        pods={usePods(items, pod)}
        matches={matches && { number: matches.indexOf(current ?? -1) + 1, count: matches.length }}
        step={step}
      />
      <Notices state={state} dropped={reader?.lines.dropped() ?? 0} retry={() => setAttempt(attempt + 1)} />
      {at !== undefined && (
        <Note look="good">
          {logText.surrounding} <Button onClick={showNewest}>{logText.newest}</Button>
        </Note>
      )}
      {state.isRead && items.length === 0 && state.error === undefined && (
        <Empty title={logText.empty} hint={logText.emptyHint} command={commandOf(kind, 'logs', name, ...flags, '-f')} />
      )}
      {!state.isRead && <p role="status">{text.loading}</p>}
      {reader && items.length > 0 && (
        <LogLines
          label={logText.log(name)}
          items={items}
          showsPods={pod === undefined && usesPods(items)}
          wraps={!search.nowrap}
          term={matches === undefined ? '' : (search.q ?? '')}
          current={current}
          at={at}
          linkTo={(time, isByKeyboard) => {
            if (isByKeyboard) focusRequest.current = 'line';
            change({ at: time });
          }}
          focusRequest={focusRequest}
          older={reader.mayReadOlder() ? reader.readOlder : undefined}
        />
      )}
      <div className="flex flex-wrap items-center gap-3 text-sm">
        <span>{logText.lines(items.length)}</span>
        {state.isFollowing && <span className="text-zinc-600 dark:text-zinc-400">{logText.following}</span>}
        <span className="flex-1" />
        <a href={downloadOf(path, environment, search)} download={`${name}.log.jsonl`} className={buttonLook()}>
          {logText.download}
        </a>
      </div>
      <Command command={commandOf(kind, 'logs', name, ...flags, '--since', since, ...(nofollow ? [] : ['-f']))} />
    </div>
  );
}

const never = () => () => undefined;

function usesPods(items: readonly Line[]): boolean {
  const [first] = items;
  return items.some(({ pod }) => pod !== first?.pod);
}

/** The pods of the lines, and the chosen one. */
function usePods(items: readonly Line[], chosen: string | undefined): string[] {
  const pods = useRef(new Set<string>());
  return useMemo(() => {
    for (const { pod } of items) pods.current.add(pod);
    if (chosen !== undefined) pods.current.add(chosen);
    return [...pods.current].toSorted();
  }, [items, chosen]);
}

/** The ids of the lines that contain a text, and of the one that was stepped to. */
function useMatches(items: readonly Line[], term: string) {
  // Typing stays fluent: the search of 100,000 lines follows.
  const lateTerm = useDeferredValue(term);
  const [choice, setChoice] = useState<{ term: string; id: number | undefined }>();
  const matches = useMemo(() => {
    if (lateTerm === '') return undefined;
    return items.filter(({ line }) => contains(line, lateTerm)).map(({ id }) => id);
  }, [items, lateTerm]);
  // Another text begins at its newest line. A line that comes later does not move the view.
  if (choice?.term !== lateTerm) setChoice({ term: lateTerm, id: matches?.at(-1) });
  const current = choice?.term === lateTerm ? choice.id : undefined;
  const step = (by: 1 | -1) => {
    if (!matches || matches.length === 0) return;
    const index = matches.indexOf(current ?? -1);
    const next = index < 0 ? matches.length - 1 : (index + by + matches.length) % matches.length;
    setChoice({ term: lateTerm, id: matches[next] });
  };
  return { matches, current: current !== undefined && matches?.includes(current) ? current : undefined, step };
}

function Notices({ state, dropped, retry }: { state: LogState; dropped: number; retry: () => void }) {
  const { store, keptSince, error } = state;
  return (
    <>
      {error !== undefined && <ErrorNote error={error} retry={retry} />}
      {store === 'unavailable' && <Note look="warn">{logText.unavailable}</Note>}
      {store === 'disabled' && (
        <Note look="warn">
          {logText.disabled} <code>svc platform enable log-store</code>
        </Note>
      )}
      {keptSince !== undefined && (
        <Note look="warn">
          {logText.keptSince} <Time at={keptSince} />
        </Note>
      )}
      {dropped > 0 && <Note look="warn">{logText.dropped(dropped)}</Note>}
    </>
  );
}

/** The address of all lines of the range, as JSON lines. */
function downloadOf(path: string, environment: string, { since = '1h', level, pod }: LogSearch): string {
  const query = {
    environment,
    all: 'true',
    sinceSeconds: String(ranges[since]),
    ...(level && { level }),
    ...(pod && { pod }),
  };
  return `/api/v1${path}?${new URLSearchParams(query).toString()}`;
}
