import { useQuery } from '@tanstack/react-query';
import { appQuery, historyQuery, type Place } from '../api/queries.ts';
import { Differences } from '../apps/deployment-difference.tsx';
import { previousOf } from '../apps/difference.ts';
import { rollbackQuery } from '../apps/queries.ts';
import { Loaded } from '../parts/loaded.tsx';
import { appText } from '../text/apps.ts';
import { assistantText } from '../text/assistant.ts';
import { changesOf } from '../workloads/env-text.ts';
import { variablesQuery } from '../workloads/queries.ts';
import type { SentOperation } from './prepared-request.ts';

const words = assistantText.prepared;

/** A value before and after. */
interface Line {
  label: string;
  before?: string | undefined;
  after: string;
}

/** What a prepared request would change, compared with what is there now. */
export function Difference({ place, operation }: { place: Place; operation: SentOperation }) {
  switch (operation.kind) {
    case 'deploy':
      return <ImageDifference place={place} operation={operation} />;
    case 'scale':
      return <ScaleDifference place={place} operation={operation} />;
    case 'rollback':
      return <RollbackDifference place={place} operation={operation} />;
    case 'variables':
      return <VariableDifference place={place} operation={operation} />;
    case 'restart':
      return <p>{words.effects.restart}</p>;
    case 'run':
      return <p>{words.effects.run}</p>;
    case 'cancel':
      return <p>{words.effects.cancel(operation.deployment)}</p>;
    case 'redrive':
    default:
      return (
        <p>
          {operation.ids === undefined ? words.effects.redriveAll : words.effects.redrive(operation.ids.join(', '))}
        </p>
      );
  }
}

interface Props<Kind extends SentOperation['kind']> {
  place: Place;
  operation: Extract<SentOperation, { kind: Kind }>;
}

function ImageDifference({ place, operation: { app, image, commit } }: Props<'deploy'>) {
  return (
    <Loaded query={useQuery(appQuery(place, app))}>
      {(view) => (
        <Lines
          lines={[
            { label: words.image, before: view.image, after: image },
            ...(commit === undefined ? [] : [{ label: words.commit, after: commit }]),
          ]}
        />
      )}
    </Loaded>
  );
}

function ScaleDifference({ place, operation: { app, replicas } }: Props<'scale'>) {
  return (
    <Loaded query={useQuery(appQuery(place, app))}>
      {(view) => <Lines lines={[{ label: words.replicas, before: String(view.replicas), after: String(replicas) }]} />}
    </Loaded>
  );
}

function RollbackDifference({ place, operation: { app, revision, withConfig } }: Props<'rollback'>) {
  return (
    <Loaded query={useQuery(historyQuery(place, app))}>
      {({ items }) => {
        const current = items.find((item) => item.current);
        const target =
          revision === undefined
            ? current && previousOf(current, items)
            : items.find((item) => item.revision === revision);
        const shown = revision ?? target?.revision;
        const textOf = (deployment: { revision?: number | undefined; image?: string | undefined } | undefined) =>
          deployment && [deployment.revision, deployment.image].filter((part) => part !== undefined).join(', ');
        const after = textOf(target) ?? (revision === undefined ? words.previous : String(revision));
        return (
          <>
            <Lines lines={[{ label: words.revision, before: textOf(current), after }]} />
            {withConfig && <p>{words.withConfig}</p>}
            {shown !== undefined && <ComesBack place={place} app={app} revision={shown} withConfig={withConfig} />}
          </>
        );
      }}
    </Loaded>
  );
}

interface ComesBackProps {
  place: Place;
  app: string;
  revision: number;
  withConfig: boolean;
}

/** The variables and settings of the revision that differ from now, each with whether it comes back: as in its dialog. */
function ComesBack({ place, app, revision, withConfig }: ComesBackProps) {
  return (
    <Loaded query={useQuery(rollbackQuery(place, app, revision))}>
      {({ comparison }) =>
        comparison && (
          <section aria-label={appText.differences.now(revision)} className="flex flex-col gap-2">
            <p>{appText.differences.now(revision)}</p>
            <Differences
              comparison={comparison}
              comesBack={({ kind, restorable }) => kind === 'deployment' || (withConfig && restorable)}
            />
          </section>
        )
      }
    </Loaded>
  );
}

function VariableDifference({ place, operation: { of, name, variables } }: Props<'variables'>) {
  return (
    <Loaded query={useQuery(variablesQuery({ place, kind: of, name }))}>
      {({ variables: current }) => {
        const changes = changesOf(current, { ...current, ...variables });
        return (
          <>
            <Lines lines={changes.map(({ name: label, before, after = '' }) => ({ label, before, after }))} />
            {changes.length === 0 ? <p>{words.same}</p> : <p>{words.effects.variables}</p>}
          </>
        );
      }}
    </Loaded>
  );
}

function Lines({ lines }: { lines: readonly Line[] }) {
  return (
    <ul className="flex flex-col gap-1">
      {lines.map(({ label, before, after }) => (
        <li key={label}>
          <span>{label}</span>
          <div className="font-mono text-xs break-all whitespace-pre-wrap">
            {before !== undefined && before !== after && <del className="block">{`- ${before}`}</del>}
            <ins className="block no-underline">{`${before === after ? ' ' : '+'} ${after}`}</ins>
          </div>
        </li>
      ))}
    </ul>
  );
}
