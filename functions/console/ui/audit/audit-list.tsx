import { Link } from '@tanstack/react-router';
import type { AuditEntryView } from '../../../../runtime/contracts/api/audit.ts';
import { platformActor, type AuditAction } from '../../../../runtime/domain/audit.ts';
import { commandOf } from '../api/command.ts';
import { Button } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { cellLook, Cells, linkLook, rowLook, wideCellLook } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { useFindPath } from '../shell/places.ts';
import { auditText as words } from '../text/audit.ts';
import { AuditFilters } from './filters.tsx';
import { pathOfObject, type KnownPlaces } from './object-path.ts';
import { useAudit } from './queries.ts';
import { auditFlags, type AuditSearch } from './search.ts';

interface ListProps {
  search: AuditSearch;
  /** Absent for the whole platform. */
  project?: string;
  known: KnownPlaces;
  change: (search: AuditSearch) => void;
}

/** The audit log with its filters, newest first. */
export function AuditList({ search, project, known, change }: ListProps) {
  const { query, stands, showOlder, showNewest } = useAudit(project, search);
  const entries = query.data?.pages.flatMap(({ items }) => items) ?? [];
  const command = commandOf('audit', ...auditFlags(project, search, { now: Date.now(), count: entries.length }));
  const environments = project === undefined ? undefined : (known.get(project) ?? []);
  return (
    <div className="flex flex-col gap-4">
      <p className="text-sm">{words.hint}</p>
      <AuditFilters search={search} change={change} {...(environments && { environments })} />
      <Loaded query={query}>
        {() => (
          <>
            {entries.length === 0 ? (
              <Empty title={words.empty} hint={words.emptyHint} command={command} />
            ) : (
              <Table entries={entries} known={known} showsProject={project === undefined} />
            )}
            {entries.length > 0 && (
              <div className="flex flex-wrap items-center gap-x-3 gap-y-2 text-sm">
                {query.hasNextPage && (
                  <Button onClick={showOlder} disabled={query.isFetchingNextPage}>
                    {words.older}
                  </Button>
                )}
                {stands && <Button onClick={showNewest}>{words.newest}</Button>}
                <span role="status">
                  {words.count(entries.length)}
                  {stands && `. ${words.stands}`}
                </span>
              </div>
            )}
            {entries.length > 0 && <Command command={command} />}
          </>
        )}
      </Loaded>
    </div>
  );
}

interface TableProps {
  entries: readonly AuditEntryView[];
  known: KnownPlaces;
  showsProject: boolean;
}

function Table({ entries, known, showsProject }: TableProps) {
  return (
    <table className="w-full text-sm">
      <Cells heads={[{ title: words.when, wide: true }, { title: words.who }, { title: words.what }]} />
      <tbody>
        {entries.map((entry) => (
          <tr key={entry.id} className={rowLook}>
            <td className={`${wideCellLook} whitespace-nowrap`}>
              <Time at={entry.at} />
            </td>
            <th scope="row" className={`${cellLook} min-w-28 text-left font-normal wrap-anywhere`}>
              {entry.actor === platformActor ? words.platform : entry.actor}
              {entry.token && <span className="block text-xs">{words.withToken(entry.token.name)}</span>}
            </th>
            <td className={`${cellLook} wrap-anywhere`}>
              <What entry={entry} known={known} />
              <p className="text-xs text-zinc-600 dark:text-zinc-400">
                <span className="md:hidden">
                  <Time at={entry.at} /> ·{' '}
                </span>
                <code>{entry.action}</code>
                {placeOf(entry, showsProject) !== '' && ` · ${placeOf(entry, showsProject)}`}
              </p>
              <Details entry={entry} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What was done, in words, with a link to the object where it still exists. */
function What({ entry, known }: { entry: AuditEntryView; known: KnownPlaces }) {
  const { action, object } = entry;
  const path = pathOfObject(useFindPath(), entry, known);
  // An entry of a newer version.
  const done = Object.hasOwn(words.actions, action) ? words.actions[action as AuditAction] : action;
  if (!object) return <p>{done}</p>;
  const kind = Object.hasOwn(words.kinds, object.kind) ? words.kinds[object.kind] : object.kind;
  return (
    <p>
      {done} {kind}{' '}
      {path === undefined ? (
        <span className="font-medium">{object.name}</span>
      ) : (
        // The router has this path, which only its types cannot know.
        <Link to={path as '/'} className={linkLook}>
          {object.name}
        </Link>
      )}
    </p>
  );
}

/** `shop / prod` */
function placeOf({ project, environment }: AuditEntryView, showsProject: boolean): string {
  return [showsProject ? project : undefined, environment].filter((part) => part !== undefined).join(' / ');
}

function Details({ entry: { details, requestId } }: { entry: AuditEntryView }) {
  const facts = [
    ...Object.entries(details).map(([name, value]) => [name, textOf(value)] as const),
    ...(requestId === undefined ? [] : [[words.requestId, requestId] as const]),
  ];
  if (facts.length === 0) return null;
  return (
    <details className="text-xs">
      <summary className="cursor-pointer">{words.details}</summary>
      <dl className="mt-1 grid grid-cols-[auto_1fr] gap-x-3 gap-y-1">
        {facts.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-zinc-600 dark:text-zinc-400">{name}</dt>
            <dd className="wrap-anywhere">{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
