import { useQuery } from '@tanstack/react-query';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { DeploymentView } from '../../../../runtime/contracts/api/apps.ts';
import { hasEnded } from '../../../../runtime/domain/deployment.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { historyQuery, type Place } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { Badge, State } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Note } from '../parts/note.tsx';
import { linkLook } from '../parts/page.tsx';
import { duration, Time } from '../parts/time.tsx';
import { appText } from '../text/apps.ts';
import { appRoute } from './app.tsx';
import { CancelDialog, RollbackDialog } from './deployment-dialogs.tsx';
import { DeploymentDifference } from './deployment-difference.tsx';
import { DeploymentLog } from './deployment-log.tsx';
import { previousOf } from './difference.ts';
import { stepsOf } from './steps.ts';

const words = appText.deployments;

type Choice = { action: 'rollback' | 'cancel'; deployment: DeploymentView };

/** The deployments of an app, newest first. */
export function Deployments() {
  const { app, ...place } = useParams({ from: appRoute });
  const [choice, setChoice] = useState<Choice>();
  const [outcome, setOutcome] = useState<string>();
  const mayDeploy = useMay(place.project, 'deployer');
  const flags = placeFlags(place);
  const close = (message?: string) => {
    setChoice(undefined);
    if (message !== undefined) setOutcome(message);
  };
  return (
    <Loaded query={useQuery(historyQuery(place, app))}>
      {({ items }) => (
        <div className="flex flex-col gap-4">
          {outcome !== undefined && <Note look="good">{outcome}</Note>}
          {items.length === 0 ? (
            <Empty
              title={words.empty}
              hint={words.emptyHint}
              command={commandOf('app', 'update', app, '--image', 'registry.example.com/shop/api:1.0', ...flags)}
            />
          ) : (
            <>
              <ol className="flex flex-col gap-3">
                {items.map((deployment) => (
                  <Entry
                    key={deployment.id}
                    deployment={deployment}
                    more={
                      <More place={place} app={app} deployment={deployment} before={previousOf(deployment, items)} />
                    }
                  >
                    {mayDeploy && actionOf(deployment) && (
                      <Button
                        onClick={() => setChoice({ action: actionOf(deployment) ?? 'cancel', deployment })}
                        {...(deployment.revision !== undefined && {
                          'aria-label': labelOf(deployment, deployment.revision),
                        })}
                      >
                        {actionOf(deployment) === 'cancel' ? words.cancel : words.rollback}
                      </Button>
                    )}
                  </Entry>
                ))}
              </ol>
              <Command command={commandOf('app', 'history', app, ...flags)} />
            </>
          )}
          {choice && <ChoiceDialog place={place} app={app} choice={choice} close={close} />}
        </div>
      )}
    </Loaded>
  );
}

/** What can be done with a deployment: its image can only be deployed again once it worked. */
function actionOf({ status, revision, current, imageDeleted }: DeploymentView): Choice['action'] | undefined {
  if (!hasEnded(status)) return 'cancel';
  return status === 'succeeded' && revision !== undefined && !current && !imageDeleted ? 'rollback' : undefined;
}

function labelOf(deployment: DeploymentView, revision: number): string {
  if (actionOf(deployment) === 'rollback') return words.rollbackName(revision);
  return `${words.cancel}: ${words.revision(revision)}`;
}

function ChoiceDialog({
  choice: { action, deployment },
  ...rest
}: {
  place: Place;
  app: string;
  choice: Choice;
  close: (outcome?: string) => void;
}) {
  if (action === 'cancel') return <CancelDialog {...rest} deployment={deployment} />;
  return <RollbackDialog {...rest} target={deployment} />;
}

interface MoreProps {
  place: Place;
  app: string;
  deployment: DeploymentView;
  before: (DeploymentView & { revision: number }) | undefined;
}

/** Links that show and hide the log, and the differences to the deployment before, which a first one does not have. */
function More({ place, app, deployment, before }: MoreProps) {
  const shown = useSearch({ from: `${appRoute}/deployments` });
  const { id, revision } = deployment;
  const title = titleOf(deployment);
  const hasLog = shown.log === id;
  const hasChanges = before !== undefined && shown.changes === revision;
  const { show, showName, hide, hideName } = appText.differences;
  const link = (isOpen: boolean, [text, name]: readonly [string, string], search: typeof shown) => (
    <Link
      to="/projects/$project/environments/$environment/apps/$app/deployments"
      params={{ ...place, app }}
      search={search}
      replace
      resetScroll={false}
      // It is no link to this page, which only shows more or less.
      activeOptions={{ exact: true, includeSearch: true }}
      aria-label={name}
      aria-expanded={isOpen}
      className={linkLook}
    >
      {text}
    </Link>
  );
  return (
    <>
      <p className="mt-2 flex flex-wrap gap-x-4 text-sm">
        {before &&
          revision !== undefined &&
          (hasChanges
            ? link(true, [hide, hideName(revision)], {})
            : link(false, [show, showName(revision)], { changes: revision }))}
        {revision !== undefined &&
          (hasLog
            ? link(true, [words.hideLog, words.hideLogName(title)], {})
            : link(false, [words.log, words.logName(title)], { log: id }))}
      </p>
      {hasChanges && revision !== undefined && (
        <DeploymentDifference place={place} app={app} before={before.revision} revision={revision} />
      )}
      {hasLog && <DeploymentLog place={place} deployment={deployment} title={words.logName(title)} />}
    </>
  );
}

const titleOf = ({ revision }: DeploymentView) => (revision === undefined ? words.skipped : words.revision(revision));

interface EntryProps {
  deployment: DeploymentView;
  /** Links to more about it, and what they show. */
  more: React.ReactNode;
  children: React.ReactNode;
}

function Entry({ deployment, more, children }: EntryProps) {
  const { status, current, automatic, trigger, actor } = deployment;
  const title = titleOf(deployment);
  return (
    <li>
      <article aria-label={title} className="rounded-lg border border-zinc-200 p-4 dark:border-zinc-800">
        <div className="flex flex-wrap items-center gap-2">
          <h2 className="font-semibold">{title}</h2>
          <State state={status} label={words.states[status]} />
          {current && <Badge tone="good">{words.current}</Badge>}
          {automatic && <Badge tone="warn">{words.automatic}</Badge>}
          <span className="flex-1" />
          {children}
        </div>
        <p className="mt-1 text-sm text-zinc-600 dark:text-zinc-400">
          {words.triggers[trigger]}
          {actor !== undefined && ` · ${actor}`}
        </p>
        <Steps {...deployment} />
        <Details {...deployment} />
        {more}
      </article>
    </li>
  );
}

/** The steps, each with its time; the last one says how long the deployment took once it had started. */
function Steps(deployment: DeploymentView) {
  const { acceptedAt, startedAt, endedAt } = deployment;
  return (
    <ol
      aria-label={words.steps}
      className="mt-1 flex flex-wrap gap-x-2 text-sm text-zinc-600 dark:text-zinc-400 [&>li+li]:before:mr-2 [&>li+li]:before:content-['→']"
    >
      {stepsOf(deployment).map(({ state, at }) => (
        <li key={state}>
          {state === 'started' ? words.started : words.states[state]} {at !== undefined && <Time at={at} />}
          {at !== undefined && at === endedAt && `, ${words.took(duration(startedAt ?? acceptedAt, endedAt))}`}
        </li>
      ))}
    </ol>
  );
}

function Details({ image, commit, commitMessage, branch, imageDeleted, ...rest }: DeploymentView) {
  const { reason, rollbackOf, rolledBackTo, promotedFrom } = rest;
  const lines = [
    rollbackOf !== undefined && words.rollbackOf(rollbackOf),
    promotedFrom && words.promotedFrom(promotedFrom.environment, promotedFrom.revision),
    rolledBackTo !== undefined && words.rolledBackTo(rolledBackTo),
    imageDeleted && words.imageDeleted,
  ].filter((line) => typeof line === 'string');
  return (
    <div className="mt-2 flex flex-col gap-1 text-sm">
      {image !== undefined && (
        <p>
          {words.image} <code>{image}</code>
        </p>
      )}
      {commit !== undefined && (
        <p>
          {words.commit} <code>{commit.slice(0, 12)}</code>
          {branch !== undefined && ` (${branch})`}
          {commitMessage !== undefined && ` ${commitMessage.split('\n', 1)[0]}`}
        </p>
      )}
      {lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
      {reason !== undefined && <Reason text={reason} />}
    </div>
  );
}

/** Why a deployment ended: a sentence, and then the last lines of a log, in which columns matter. */
function Reason({ text }: { text: string }) {
  const [sentence, ...log] = text.split('\n');
  return (
    <>
      <p>{sentence}</p>
      {log.length > 0 && <pre className="font-mono text-xs whitespace-pre-wrap">{log.join('\n')}</pre>}
    </>
  );
}
