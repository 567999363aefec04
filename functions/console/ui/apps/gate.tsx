import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { GateView } from '../../../../runtime/contracts/api/public-route.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { appQuery, type Place } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { keysQuery } from '../keys/queries.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Command } from '../parts/command.tsx';
import { CopyText } from '../parts/copy.tsx';
import { Facts } from '../parts/facts.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { linkLook } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { appSettingsText } from '../text/app-settings.ts';
import { appRoute } from './app.tsx';
import { gateQuery } from './queries.ts';

const words = appSettingsText.gate;
const tones = { off: 'quiet', applying: 'warn', gated: 'good', lifting: 'warn' } as const;

/** Whether the public route of an app requires an API key, and how clients send it. */
export function Gate() {
  const { app, ...place } = useParams({ from: appRoute });
  return (
    <Loaded query={useQuery(gateQuery(place, app))}>{(view) => <View place={place} app={app} view={view} />}</Loaded>
  );
}

interface ViewProps {
  place: Place;
  app: string;
  view: GateView;
}

function View({ place, app, view }: ViewProps) {
  const keys = useValidKeys(place, app);
  const { gate, since, message } = view;
  return (
    <div className="flex flex-col gap-4">
      <p className="text-sm">{words.what}</p>
      {(gate === 'applying' || gate === 'lifting') && (
        <Note look="warn">
          <p>{gate === 'applying' ? words.notProtected : words.notOpen}</p>
          {message !== undefined && <p className="mt-1">{message}</p>}
        </Note>
      )}
      {gate === 'gated' && message !== undefined && <Note look="good">{message}</Note>}
      {(gate === 'applying' || gate === 'gated') && keys === 0 && (
        <Note look="warn">
          {words.noKeys}{' '}
          <Link to="/projects/$project/environments/$environment/keys" params={place} className={linkLook}>
            {words.createKey}
          </Link>
        </Note>
      )}
      <Facts
        facts={[
          [
            words.status,
            <Badge key="gate" tone={tones[gate]}>
              {words.states[gate]}
            </Badge>,
          ],
          [words.since, since !== undefined && <Time at={since} />],
          [words.keys, keys],
        ]}
      />
      <Actions place={place} app={app} view={view} />
      <Command command={commandOf('app', 'gate', 'status', app, ...placeFlags(place))} />
      <Header place={place} app={app} />
    </div>
  );
}

/** The number of keys that the app accepts; undefined until it is known. */
function useValidKeys(place: Place, app: string): number | undefined {
  return useQuery(keysQuery(place)).data?.items.filter(
    ({ enabled, expiryWarning, apps }) =>
      enabled && expiryWarning !== 'expired' && (apps === undefined || apps.includes(app)),
  ).length;
}

function Actions({ place, app, view: { gate } }: ViewProps) {
  const mayChange = useMay(place.project, 'admin');
  const [asks, setAsks] = useState(false);
  const enable = useChange<GateView>(place);
  const on = gate === 'applying' || gate === 'gated';
  return (
    <>
      {mayChange && (
        <div>
          {on ? (
            <Button onClick={() => setAsks(true)}>{words.disable}</Button>
          ) : (
            <Button
              look="primary"
              disabled={enable.isPending}
              onClick={() => enable.mutate({ path: ['apps', app, 'gate'], method: 'PUT', body: { enabled: true } })}
            >
              {words.enable}
            </Button>
          )}
        </div>
      )}
      {enable.error && <ErrorNote error={enable.error} />}
      {asks && <DisableDialog place={place} app={app} close={() => setAsks(false)} />}
    </>
  );
}

function DisableDialog({ place, app, close }: { place: Place; app: string; close: () => void }) {
  const disable = useChange<GateView>(place, close);
  const url = useQuery(appQuery(place, app)).data?.url ?? app;
  return (
    <FormDialog
      title={words.disableTitle}
      close={close}
      action={words.disable}
      look="danger"
      command={commandOf('app', 'gate', 'disable', app, ...placeFlags(place))}
      request={disable}
      submit={() => disable.mutate({ path: ['apps', app, 'gate'], method: 'PUT', body: { enabled: false } })}
    >
      <p>{words.disableWhat(url)}</p>
    </FormDialog>
  );
}

function Header({ place, app }: { place: Place; app: string }) {
  const url = useQuery(appQuery(place, app)).data?.url;
  return (
    <section aria-labelledby="header" className="flex flex-col gap-2">
      <h2 id="header" className="text-lg font-semibold">
        {words.header}
      </h2>
      <CopyText value={`curl -H "X-API-Key: $API_KEY" ${url ?? 'https://…'}`} />
      <p className="text-sm">{words.receives}</p>
    </section>
  );
}
