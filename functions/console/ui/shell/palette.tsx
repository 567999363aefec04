import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useEffect, useId, useRef, useState } from 'react';
import type { DeploymentAccepted } from '../../../../runtime/contracts/api/apps.ts';
import { pathOf, request } from '../api/client.ts';
import { appQuery, sessionQuery, type Place } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { Command } from '../parts/command.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { shellText } from '../text/shell.ts';
import { entriesOf, recentEntries } from './entries.ts';
import type { Entry } from './entry.ts';
import { bestMatches } from './match.ts';
import { usePaletteObjects } from './objects.ts';
import { useFindPath, useHere } from './places.ts';
import { recentObjects } from './recent.ts';

const words = shellText.palette;
/** More than a person reads; a longer name finds the others. */
const shownAtMost = 50;

interface PaletteProps {
  close: () => void;
  signOut: () => void;
  showShortcuts: () => void;
  openAssistant: () => void;
}

/** Finds objects, pages and actions by parts of their names: a combobox whose list is always open, in a dialog. */
export function Palette({ close, ...actions }: PaletteProps) {
  const { entries, isLoading, isPartial } = useEntries();
  const [written, setWritten] = useState('');
  const [index, setIndex] = useState(0);
  const { run, error } = useRun({ close, ...actions });
  const id = useId();
  const list = useRef<HTMLUListElement>(null);
  const matches = bestMatches(written, entries, ({ title, detail = '', kind }) => `${title} ${detail} ${kind}`);
  const shown = matches.slice(0, shownAtMost);
  const active = Math.min(index, shown.length - 1);
  const current = shown[active];
  useEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: 'nearest' });
  }, [active, current?.id]);

  const moves: Readonly<Record<string, number>> = {
    ArrowDown: active + 1 < shown.length ? active + 1 : 0,
    ArrowUp: active > 0 ? active - 1 : shown.length - 1,
    PageDown: Math.min(active + 10, shown.length - 1),
    PageUp: Math.max(active - 10, 0),
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    const move = moves[event.key];
    if (move !== undefined) setIndex(Math.max(move, 0));
    else if (event.key === 'Enter' && !event.nativeEvent.isComposing) {
      if (current) run(current);
    } else return;
    event.preventDefault();
  };
  return (
    <Dialog title={words.title} close={close}>
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls={id}
        aria-autocomplete="list"
        aria-label={words.title}
        {...(current && { 'aria-activedescendant': `${id}-${active}` })}
        autoFocus
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        value={written}
        onChange={(event) => {
          setWritten(event.target.value);
          setIndex(0);
        }}
        onKeyDown={onKeyDown}
        className="w-full rounded-md border border-zinc-400 bg-white px-3 py-2 dark:border-zinc-600 dark:bg-zinc-900"
      />
      <ul ref={list} id={id} role="listbox" aria-label={words.results} className="mt-2 h-72 overflow-y-auto text-sm">
        {shown.map((entry, at) => (
          <Option key={entry.id} id={`${id}-${at}`} entry={entry} isActive={at === active} choose={() => run(entry)} />
        ))}
      </ul>
      <p role="status" className="mb-2 min-h-5 text-xs text-zinc-600 dark:text-zinc-400">
        {isLoading
          ? words.loading
          : shown.length === 0
            ? words.none
            : matches.length > shown.length
              ? words.more(matches.length - shown.length)
              : isPartial
                ? words.partial
                : words.hint}
      </p>
      <div className="min-h-10">
        {error ? <ErrorNote error={error} /> : current?.command !== undefined && <Command command={current.command} />}
      </div>
    </Dialog>
  );
}

function Option({ id, entry, isActive, choose }: { id: string; entry: Entry; isActive: boolean; choose: () => void }) {
  const { title, detail, kind } = entry;
  return (
    // The keyboard reaches options through the field above, as the combobox pattern has it.
    <li
      id={id}
      role="option"
      aria-selected={isActive}
      onClick={choose}
      className={`flex cursor-pointer flex-wrap items-baseline gap-x-2 rounded-md px-3 py-1.5 ${isActive ? 'bg-indigo-100 dark:bg-indigo-950' : ''}`}
    >
      <span className="font-medium">{title}</span>
      {detail !== undefined && <span className="text-xs text-zinc-700 dark:text-zinc-300">{detail}</span>}
      <span className="ml-auto text-xs text-zinc-700 dark:text-zinc-300">{kind}</span>
    </li>
  );
}

/** What can be found, with what the user opened last in front. */
function useEntries() {
  const find = useFindPath();
  const here = useHere();
  const mayDeploy = useMay(here.project, 'deployer');
  const mayAdminister = useMay(here.project, 'admin');
  const session = useQuery(sessionQuery).data;
  const { isLoading, isPartial, ...objects } = usePaletteObjects(here);
  const entries = entriesOf({ find, here, mayDeploy, mayAdminister, isAdmin: session?.role === 'admin', ...objects });
  const recent = recentEntries(session ? recentObjects(session.email) : []);
  const paths = new Set(recent.map(({ target }) => target.to === 'path' && target.path));
  const others = entries.filter(({ target }) => target.to !== 'path' || !paths.has(target.path));
  return { entries: [...recent, ...others], isLoading, isPartial };
}

/** Carries out an entry: most lead to a page. */
function useRun({ close, signOut, showShortcuts, openAssistant }: PaletteProps) {
  const router = useRouter();
  const client = useQueryClient();
  const find = useFindPath();
  const restart = useMutation({
    mutationFn: ({ place, app }: { place: Place; app: string }) =>
      request<DeploymentAccepted>(pathOf('projects', place.project, 'apps', app, 'restart'), {
        method: 'POST',
        query: { environment: place.environment },
      }),
    onSuccess: async (_, { place, app }) => {
      close();
      // The new revision is at the top there.
      router.history.push(find('deployments', { ...place, app }) ?? '/');
      await client.invalidateQueries({ queryKey: appQuery(place, app).queryKey });
    },
  });
  const run = ({ target }: Entry) => {
    if (target.to === 'restart') {
      if (!restart.isPending) restart.mutate(target);
      return;
    }
    close();
    if (target.to === 'path') router.history.push(target.path);
    else if (target.to === 'url') window.open(target.url, '_blank', 'noopener,noreferrer');
    else if (target.to === 'sign-out') signOut();
    else if (target.to === 'assistant') openAssistant();
    else showShortcuts();
  };
  return { run, error: restart.error };
}
