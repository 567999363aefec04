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
import { previousOf } from './difference.ts';

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
                    difference={
                      <Changes place={place} app={app} deployment={deployment} before={previousOf(deployment, items)} />
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

interface ChangesProps {
  place: Place;
  app: string;
  deployment: DeploymentView;
  before: (DeploymentView & { revision: number }) | undefined;
}

/** A link that shows and hides the differences to the deployment before. Nothing for a first deployment. */
function Changes({ place, app, deployment, before }: ChangesProps) {
  const { changes } = useSearch({ from: `${appRoute}/deployments` });
  const { revision } = deployment;
  if (!before || revision === undefined) return null;
  const isOpen = changes === revision;
  const { show, showName, hide, hideName } = appText.differences;
  return (
    <>
      <p className="mt-2 text-sm">
        <Link
          to="/projects/$project/environments/$environment/apps/$app/deployments"
          params={{ ...place, app }}
          search={isOpen ? {} : { changes: revision }}
          replace
          resetScroll={false}
          // It is no link to this page, which only shows more or less.
          activeOptions={{ exact: true, includeSearch: true }}
          aria-label={isOpen ? hideName(revision) : showName(revision)}
          className={linkLook}
        >
          {isOpen ? hide : show}
        </Link>
      </p>
      {isOpen && <DeploymentDifference place={place} app={app} before={before.revision} revision={revision} />}
    </>
  );
}

interface EntryProps {
  deployment: DeploymentView;
  difference: React.ReactNode;
  children: React.ReactNode;
}

function Entry({ deployment, difference, children }: EntryProps) {
  const { revision, status, current, automatic, trigger, actor, acceptedAt, startedAt, endedAt } = deployment;
  const title = revision === undefined ? words.skipped : words.revision(revision);
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
          <Time at={acceptedAt} /> · {words.triggers[trigger]}
          {actor !== undefined && ` · ${actor}`}
          {endedAt !== undefined && ` · ${words.took(duration(startedAt ?? acceptedAt, endedAt))}`}
        </p>
        <Details {...deployment} />
        {difference}
      </article>
    </li>
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
      {reason !== undefined && <p className="whitespace-pre-wrap">{reason}</p>}
    </div>
  );
}
