import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { historyQuery, type Place } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { Button } from '../parts/button.tsx';
import { Note } from '../parts/note.tsx';
import { linkLook } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { appText } from '../text/apps.ts';
import { RollbackDialog } from './deployment-dialogs.tsx';
import { automaticRollbackOf, isOver, rollbackStateOf, type RollbackState } from './rollback-state.ts';

const words = appText.rolledBack;

interface RolledBackProps {
  place: Place;
  app: string;
}

/** Says on every page of an app that it went back to an older revision, and undoes that. Nothing for other apps. */
export function RolledBack({ place, app }: RolledBackProps) {
  // Without it, the page still shows the app; the page of the deployments says why it cannot be read.
  const history = useQuery(historyQuery(place, app)).data?.items ?? [];
  const [undo, setUndo] = useState<RollbackState>();
  const [accepted, setAccepted] = useState<{ message: string; revision: number }>();
  const mayDeploy = useMay(place.project, 'deployer');
  const state = rollbackStateOf(history);
  const automatic = automaticRollbackOf(history);
  const close = (message?: string, revision?: number) => {
    setUndo(undefined);
    if (message !== undefined && revision !== undefined) setAccepted({ message, revision });
  };
  return (
    <div className="mb-4 flex flex-col gap-4 empty:hidden">
      {automatic && (
        <Note look="warn">
          <p>{words.automatic(automatic.rollbackOf)}</p>
          {automatic.reason !== undefined && <p className="whitespace-pre-wrap">{automatic.reason}</p>}
          <DeploymentsLink place={place} app={app} />
        </Note>
      )}
      {state && (
        <Note look="warn">
          <p>{words.title(state.to, state.left.revision)}</p>
          {state.current.actor !== undefined && state.current.rollbackOf !== undefined && !automatic && (
            <p>
              {words.by(state.current.actor)} <Time at={state.current.acceptedAt} />
            </p>
          )}
          {state.left.imageDeleted && <p>{words.imageDeleted(state.left.revision)}</p>}
          {mayDeploy && !state.left.imageDeleted && (
            <Button className="mt-2" onClick={() => setUndo(state)}>
              {words.undo}
            </Button>
          )}
        </Note>
      )}
      {accepted && !isOver(history, accepted.revision) && <Note look="good">{accepted.message}</Note>}
      {undo && (
        <RollbackDialog
          place={place}
          app={app}
          target={undo.left}
          title={words.undoTitle(undo.left.revision)}
          startWithConfig={undo.withConfig}
          close={close}
        />
      )}
    </div>
  );
}

function DeploymentsLink({ place, app }: RolledBackProps) {
  return (
    <Link
      to="/projects/$project/environments/$environment/apps/$app/deployments"
      params={{ ...place, app }}
      className={linkLook}
    >
      {words.deployments}
    </Link>
  );
}
