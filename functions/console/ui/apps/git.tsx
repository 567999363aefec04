import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { DeploymentAccepted } from '../../../../runtime/contracts/api/apps.ts';
import type { GitSourceView } from '../../../../runtime/contracts/api/git.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { Button } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { CopyText } from '../parts/copy.tsx';
import { Facts } from '../parts/facts.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { Time } from '../parts/time.tsx';
import { appSettingsText } from '../text/app-settings.ts';
import { appRoute } from './app.tsx';
import { Builds } from './builds.tsx';
import { RemoveDialog, SourceDialog } from './git-dialogs.tsx';
import { gitQuery } from './queries.ts';

const words = appSettingsText.git;

/** The repository that the images of an app are built from, and its builds. */
export function Git() {
  const { app, ...place } = useParams({ from: appRoute });
  return (
    <div className="flex flex-col gap-8">
      <Loaded query={useQuery(gitQuery(place, app))}>
        {(source) => <Source place={place} app={app} source={source} />}
      </Loaded>
      <Builds place={place} app={app} />
    </div>
  );
}

interface SourceProps {
  place: Place;
  app: string;
  source: GitSourceView;
}

function Source({ place, app, source }: SourceProps) {
  const mayChange = useMay(place.project, 'deployer');
  const [dialog, setDialog] = useState<'set' | 'remove'>();
  const close = () => setDialog(undefined);
  const flags = placeFlags(place);
  return (
    <section className="flex flex-col gap-4" aria-label={words.url}>
      {source.configured ? (
        <>
          <p className="text-sm">{words.what}</p>
          {source.error !== undefined && <Note look="bad">{source.error}</Note>}
          <Facts facts={factsOf(source)} />
          {source.deployKey !== undefined && (
            <div className="flex flex-col gap-1 text-sm">
              {words.deployKey}
              <CopyText value={source.deployKey} label={words.copyDeployKey} />
            </div>
          )}
          <Command command={commandOf('app', 'git', 'status', app, ...flags)} />
        </>
      ) : (
        <Empty
          title={words.empty}
          hint={words.emptyHint}
          command={commandOf('app', 'git', 'set', app, '--url', 'https://git.example.com/shop/api.git', ...flags)}
        />
      )}
      {mayChange && <Actions place={place} app={app} source={source} open={setDialog} />}
      {dialog === 'set' && <SourceDialog {...{ place, app, source, close }} />}
      {dialog === 'remove' && <RemoveDialog {...{ place, app, close }} />}
    </section>
  );
}

function Actions({ place, app, source, open }: SourceProps & { open: (dialog: 'set' | 'remove') => void }) {
  const sync = useChange<undefined>(place);
  const build = useChange<DeploymentAccepted>(place);
  const path = ['apps', app, 'git'];
  if (!source.configured) {
    return (
      <div>
        <Button look="primary" onClick={() => open('set')}>
          {words.connect}
        </Button>
      </div>
    );
  }
  return (
    <>
      <div className="flex flex-wrap gap-2">
        <Button disabled={sync.isPending} onClick={() => sync.mutate({ path: [...path, 'sync'], method: 'POST' })}>
          {words.sync}
        </Button>
        <Button
          disabled={build.isPending}
          onClick={() => build.mutate({ path: [...path, 'builds'], method: 'POST', body: {} })}
        >
          {words.build}
        </Button>
        <Button onClick={() => open('set')}>{words.edit}</Button>
        <Button onClick={() => open('remove')}>{words.remove}</Button>
      </div>
      {['sync', 'build'].map((action) => (
        <Command key={action} command={commandOf('app', 'git', action, app, ...placeFlags(place))} />
      ))}
      {sync.isSuccess && <Note look="good">{words.synced}</Note>}
      {build.data && <Note look="good">{words.accepted(build.data.revision)}</Note>}
      {sync.error && <ErrorNote error={sync.error} />}
      {build.error && <ErrorNote error={build.error} />}
    </>
  );
}

function factsOf({ url, branch, path, dockerfile, credentials, hostKeys, commit, polledAt }: GitSourceView) {
  return [
    [words.url, url],
    [words.branch, branch],
    [words.path, path],
    [words.dockerfile, dockerfile],
    [words.credentials, credentials && words.credentialKinds[credentials]],
    [words.hostKeys, hostKeys?.map(({ type, fingerprint }) => `${type} ${fingerprint}`).join(', ')],
    [words.commit, commit !== undefined && <code key="commit">{commit.slice(0, 12)}</code>],
    [words.polled, polledAt !== undefined && <Time key="polled" at={polledAt} />],
  ] as const;
}
