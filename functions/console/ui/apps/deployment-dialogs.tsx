import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { DeploymentAccepted, DeploymentView } from '../../../../runtime/contracts/api/apps.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { pathOf, request } from '../api/client.ts';
import { appQuery, type Place } from '../api/queries.ts';
import { Button } from '../parts/button.tsx';
import { Command } from '../parts/command.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { appText } from '../text/apps.ts';
import { text } from '../text/common.ts';
import { Differences } from './deployment-difference.tsx';
import { rollbackQuery } from './queries.ts';

const words = appText.deployments;

interface DialogProps {
  place: Place;
  app: string;
  /**
   * @param outcome what was accepted; absent when the user leaves everything as it is
   * @param revision of the deployment that was accepted
   */
  close: (outcome?: string, revision?: number) => void;
}

interface RollbackProps extends DialogProps {
  target: DeploymentView;
  title?: string;
  /** Whether to offer the environment and settings of the revision first. */
  startWithConfig?: boolean;
}

/** Says what a rollback restores and what it leaves, and requests it. */
export function RollbackDialog({ place, app, target, title, startWithConfig = false, close }: RollbackProps) {
  const { revision = 0, image, commit } = target;
  const client = useQueryClient();
  const [withConfig, setWithConfig] = useState(startWithConfig);
  const rollback = useMutation({
    mutationFn: () =>
      request<DeploymentAccepted>(pathOf('projects', place.project, 'apps', app, 'rollback'), {
        method: 'POST',
        query: { environment: place.environment },
        body: { revision, withConfig },
      }),
    onSuccess: async (accepted) => {
      close(words.accepted(accepted.revision), accepted.revision);
      await client.invalidateQueries({ queryKey: appQuery(place, app).queryKey });
    },
  });
  const stays = [words.never, withConfig ? words.storedSecrets : words.backConfig];
  const flags = ['--revision', String(revision), withConfig ? '--with-config' : undefined, ...placeFlags(place)];
  return (
    <Dialog title={title ?? words.rollbackTitle(revision)} close={() => close()}>
      <div className="flex flex-col gap-3 text-sm">
        <p>{words.rollbackWhat}</p>
        <p>
          <strong>{words.comesBack}:</strong> {words.backImage}
          {image !== undefined && <code> {image}</code>}
          {commit !== undefined && ` ${words.backCommit(commit.slice(0, 12))}`}
          {withConfig && `; ${words.backConfig}`}
        </p>
        <p>
          <strong>{words.staysAsIs}:</strong> {stays.join('; ')}
        </p>
        <label className="flex gap-2">
          <input type="checkbox" checked={withConfig} onChange={(event) => setWithConfig(event.target.checked)} />
          {words.withConfig}
        </label>
        <section aria-label={appText.differences.now(revision)} className="flex flex-col gap-2">
          <h3 className="font-semibold">{appText.differences.now(revision)}</h3>
          <Loaded query={useQuery(rollbackQuery(place, app, revision))}>
            {({ comparison }) =>
              comparison && (
                <Differences
                  comparison={comparison}
                  comesBack={({ kind, restorable }) => kind === 'deployment' || (withConfig && restorable)}
                />
              )
            }
          </Loaded>
        </section>
        <Command command={commandOf('app', 'rollback', app, ...flags)} />
        {rollback.error && <ErrorNote error={rollback.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={() => close()}>{text.cancel}</Button>
          <Button look="primary" onClick={() => rollback.mutate()} disabled={rollback.isPending}>
            {words.rollbackTo(revision)}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

/** Confirms that a deployment in progress is to end. */
export function CancelDialog({ place, app, deployment, close }: DialogProps & { deployment: DeploymentView }) {
  const client = useQueryClient();
  const cancel = useMutation({
    mutationFn: () =>
      request<DeploymentView>(pathOf('projects', place.project, 'deployments', deployment.id, 'cancel'), {
        method: 'POST',
      }),
    onSuccess: async () => {
      close(words.cancelled);
      await client.invalidateQueries({ queryKey: appQuery(place, app).queryKey });
    },
  });
  return (
    <Dialog title={words.cancelTitle} close={() => close()}>
      <div className="flex flex-col gap-3 text-sm">
        <p>{words.cancelWhat}</p>
        <Command command={commandOf('deployment', 'cancel', deployment.id, '--project', place.project, '--yes')} />
        {cancel.error && <ErrorNote error={cancel.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={() => close()}>{words.keep}</Button>
          <Button look="danger" onClick={() => cancel.mutate()} disabled={cancel.isPending}>
            {words.cancel}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
