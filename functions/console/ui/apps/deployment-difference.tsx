import { useQuery } from '@tanstack/react-query';
import { useId } from 'react';
import type { RevisionDifference, RevisionView } from '../../../../runtime/contracts/api/revisions.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { Badge } from '../parts/badge.tsx';
import { Command } from '../parts/command.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { appText } from '../text/apps.ts';
import { revisionQuery } from './queries.ts';

const words = appText.differences;

interface DeploymentDifferenceProps {
  place: Place;
  app: string;
  revision: number;
  /** The revision that the app ran before it. */
  before: number;
}

/** What differs between a revision and the one that the app ran before it. */
export function DeploymentDifference({ place, app, revision, before }: DeploymentDifferenceProps) {
  const id = useId();
  const flags = ['--revision', String(revision), '--compare-with', String(before), ...placeFlags(place)];
  return (
    <section
      aria-labelledby={id}
      className="mt-3 flex flex-col gap-2 rounded-md bg-zinc-100 p-3 text-sm dark:bg-zinc-900"
    >
      <h3 id={id} className="font-semibold">
        {words.title(revision, before)}
      </h3>
      <Loaded query={useQuery(revisionQuery(place, app, revision, before))}>
        {({ comparison }) => comparison && <Differences comparison={comparison} />}
      </Loaded>
      <Command command={commandOf('app', 'diff', app, ...flags)} />
    </section>
  );
}

interface DifferencesProps {
  comparison: NonNullable<RevisionView['comparison']>;
  /** Whether a rollback brings the later value back; each difference then says so. */
  comesBack?: (difference: RevisionDifference) => boolean;
}

/** The differences between two revisions, and what is not known of both. */
export function Differences({ comparison: { differences, unknown }, comesBack }: DifferencesProps) {
  return (
    <>
      {differences.length === 0 && <p>{words.same}</p>}
      <ul className="flex flex-col gap-2">
        {differences.map((difference) => (
          <li key={`${difference.kind} ${difference.name}`}>
            <span className="wrap-anywhere">{labelOf(difference)}</span>
            {comesBack && (
              <span className="ml-2">
                <Badge tone={comesBack(difference) ? 'good' : 'quiet'}>
                  {comesBack(difference) ? words.comesBack : words.stays}
                </Badge>
              </span>
            )}
            <Values {...difference} />
          </li>
        ))}
      </ul>
      {unknown.length > 0 && (
        <p className="text-zinc-700 dark:text-zinc-300">{words.unknown(unknown.map(nameOf).join(', '))}</p>
      )}
    </>
  );
}

function Values({ change, before, after }: RevisionDifference) {
  if (before === undefined && after === undefined) return <p className="text-xs">{words.hidden[change]}</p>;
  return (
    <div className="font-mono text-xs break-all whitespace-pre-wrap">
      {change !== 'added' && <del className="block">{`- ${before ?? words.valueHidden}`}</del>}
      {change !== 'removed' && <ins className="block no-underline">{`+ ${after ?? words.valueHidden}`}</ins>}
    </div>
  );
}

function labelOf({ kind, name }: RevisionDifference): string {
  if (kind === 'variable') return words.variable(name);
  if (kind === 'secret') return words.secret(name);
  const labels: Readonly<Record<string, string>> = kind === 'setting' ? words.settings : words.fields;
  return labels[name] ?? name;
}

function nameOf(name: string): string {
  const labels: Readonly<Record<string, string>> = { ...words.settings, ...words.all };
  return labels[name] ?? name;
}
