import { useQuery } from '@tanstack/react-query';
import { Link, useParams, useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import type { KeyView } from '../../../../runtime/contracts/api/keys.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { Crumbs } from '../environment/crumbs.tsx';
import { Button, buttonLook } from '../parts/button.tsx';
import { Command } from '../parts/command.tsx';
import { Facts, type Fact } from '../parts/facts.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { Heading, linkLook } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { keyText } from '../text/keys.ts';
import { GateProgress, type GateOutcome } from './gate-progress.tsx';
import { ChangeDialog, RevokeDialog, RotateDialog } from './key-dialogs.tsx';
import { KeyState } from './key-state.tsx';
import { NewKeyDialog, type NewKey } from './new-key.tsx';
import { keyQuery } from './queries.ts';
import { Usage } from './usage.tsx';

const words = keyText.key;

/** One API key: its settings, state and usage. */
export function KeyPage() {
  const { key: handle, ...place } = useParams({ from: '/frame/projects/$project/environments/$environment/keys/$key' });
  const key = useQuery(keyQuery(place, handle));
  return (
    <>
      <Crumbs {...place} />
      <Heading title={key.data?.name ?? handle}>
        {key.data && <KeyState {...key.data} />}
        <span className="flex-1" />
        <Link to="/projects/$project/environments/$environment/keys" params={place} className={buttonLook()}>
          {keyText.keys.title}
        </Link>
      </Heading>
      <Loaded query={key}>
        {(data) => (
          <div className="flex flex-col gap-8">
            <Settings key={handle} place={place} current={data} />
            <Usage place={place} handle={handle} />
          </div>
        )}
      </Loaded>
    </>
  );
}

function Settings({ place, current }: { place: Place; current: KeyView }) {
  const mayChange = useMay(place.project, 'admin');
  const router = useRouter();
  const [dialog, setDialog] = useState<'change' | 'rotate' | 'revoke'>();
  const [outcome, setOutcome] = useState<GateOutcome>();
  const [created, setCreated] = useState<NewKey>();
  const toggle = useChange<Omit<GateOutcome, 'verb'>>(place, ({ change }, { body }) =>
    setOutcome({ change, verb: (body as { enabled: boolean }).enabled ? 'enabled' : 'disabled' }),
  );
  const close = () => setDialog(undefined);
  const toKeys = () => router.navigate({ to: '/projects/$project/environments/$environment/keys', params: place });
  const { handle, enabled } = current;
  const mayRotate = enabled && current.expiryWarning !== 'expired' && current.replacedBy === undefined;
  return (
    <div className="flex flex-col gap-4">
      {mayChange && (
        <div className="flex flex-wrap gap-2">
          <Button onClick={() => setDialog('change')}>{words.change}</Button>
          <Button
            disabled={toggle.isPending}
            onClick={() => toggle.mutate({ path: ['api-keys', handle], method: 'PATCH', body: { enabled: !enabled } })}
          >
            {enabled ? words.disable : words.enable}
          </Button>
          {mayRotate && <Button onClick={() => setDialog('rotate')}>{words.rotate}</Button>}
          <Button onClick={() => setDialog('revoke')}>{words.revoke}</Button>
        </div>
      )}
      {toggle.error && <ErrorNote error={toggle.error} />}
      {outcome && <GateProgress {...outcome} />}
      <Facts facts={factsOf(place, current)} />
      <Command command={commandOf('key', 'show', handle, ...placeFlags(place))} />
      {mayChange && (
        <Command command={commandOf('key', enabled ? 'disable' : 'enable', handle, ...placeFlags(place))} />
      )}
      {dialog === 'change' && (
        <ChangeDialog {...{ place, current, close }} done={({ change }) => setOutcome({ change, verb: 'applied' })} />
      )}
      {dialog === 'rotate' && <RotateDialog {...{ place, current, close }} done={setCreated} />}
      {dialog === 'revoke' && <RevokeDialog {...{ place, current, close }} done={() => void toKeys()} />}
      {created && <NewKeyDialog created={created} close={() => setCreated(undefined)} />}
    </div>
  );
}

function factsOf(place: Place, key: KeyView): readonly Fact[] {
  const { apps, allowedCidrs, expiresAt, replacedBy } = key;
  return [
    [words.handle, <code key="handle">{key.handle}</code>],
    [keyText.keys.plan, key.plan],
    [words.apps, apps === undefined ? words.allApps : apps.length === 0 ? words.noApps : apps.join(', ')],
    [words.networks, allowedCidrs === undefined ? words.allNetworks : allowedCidrs.join(', ')],
    [words.expires, expiresAt === undefined ? words.never : <Time key="expires" at={expiresAt} />],
    [
      words.replacedBy,
      replacedBy !== undefined && (
        <Link
          to="/projects/$project/environments/$environment/keys/$key"
          params={{ ...place, key: replacedBy }}
          className={linkLook}
        >
          {replacedBy}
        </Link>
      ),
    ],
    [
      words.created,
      <>
        <Time at={key.createdAt} /> {words.createdBy(key.createdBy)}
      </>,
    ],
    [keyText.keys.lastSeen, key.usage.lastSeen],
  ];
}
