import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
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
import { workloadText } from '../text/workloads.ts';
import { gateQuery, viewQuery } from './queries.ts';
import { useWorkload } from './use-workload.ts';
import { pathBelow, type Workload } from './workload.ts';

const words = workloadText.gate;
const tones = { off: 'quiet', applying: 'warn', gated: 'good', lifting: 'warn' } as const;

/** Whether the public route of an app or function requires an API key, and how clients send it. */
export function GatePage() {
  const workload = useWorkload();
  return <Loaded query={useQuery(gateQuery(workload))}>{(view) => <View workload={workload} view={view} />}</Loaded>;
}

interface ViewProps {
  workload: Workload;
  view: GateView;
}

/** The public address of a workload, once it is known. */
function useUrl({ place, kind, name }: Workload): string | undefined {
  const app = useQuery({ ...appQuery(place, name), enabled: kind === 'app' });
  const view = useQuery({ ...viewQuery({ place, kind: 'function', name }), enabled: kind === 'function' });
  return (kind === 'app' ? app : view).data?.url;
}

function View({ workload, view }: ViewProps) {
  const { place, kind, name } = workload;
  const keys = useValidKeys(place, name);
  const { gate, since, message } = view;
  return (
    <div className="flex flex-col gap-4">
      <p className="text-sm">{words.what(kind)}</p>
      {(gate === 'applying' || gate === 'lifting') && (
        <Note look="warn">
          <p>{gate === 'applying' ? words.notProtected(kind) : words.notOpen}</p>
          {message !== undefined && <p className="mt-1">{message}</p>}
        </Note>
      )}
      {gate === 'gated' && message !== undefined && <Note look="good">{message}</Note>}
      {(gate === 'applying' || gate === 'gated') && keys === 0 && (
        <Note look="warn">
          {words.noKeys(kind)}{' '}
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
      <Actions workload={workload} view={view} />
      <Command command={commandOf(kind, 'gate', 'status', name, ...placeFlags(place))} />
      <Header workload={workload} />
    </div>
  );
}

/** The number of keys that a workload accepts; undefined until it is known. */
function useValidKeys(place: Place, name: string): number | undefined {
  return useQuery(keysQuery(place)).data?.items.filter(
    ({ enabled, expiryWarning, apps }) =>
      enabled && expiryWarning !== 'expired' && (apps === undefined || apps.includes(name)),
  ).length;
}

function Actions({ workload, view: { gate } }: ViewProps) {
  const { place } = workload;
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
              onClick={() =>
                enable.mutate({ path: pathBelow(workload, 'gate'), method: 'PUT', body: { enabled: true } })
              }
            >
              {words.enable}
            </Button>
          )}
        </div>
      )}
      {enable.error && <ErrorNote error={enable.error} />}
      {asks && <DisableDialog workload={workload} close={() => setAsks(false)} />}
    </>
  );
}

function DisableDialog({ workload, close }: { workload: Workload; close: () => void }) {
  const { place, kind, name } = workload;
  const disable = useChange<GateView>(place, close);
  const url = useUrl(workload) ?? name;
  return (
    <FormDialog
      title={words.disableTitle}
      close={close}
      action={words.disable}
      look="danger"
      command={commandOf(kind, 'gate', 'disable', name, ...placeFlags(place))}
      request={disable}
      submit={() => disable.mutate({ path: pathBelow(workload, 'gate'), method: 'PUT', body: { enabled: false } })}
    >
      <p>{words.disableWhat(kind, url)}</p>
    </FormDialog>
  );
}

function Header({ workload }: { workload: Workload }) {
  const url = useUrl(workload);
  return (
    <section aria-labelledby="header" className="flex flex-col gap-2">
      <h2 id="header" className="text-lg font-semibold">
        {words.header}
      </h2>
      <CopyText value={`curl -H "X-API-Key: $API_KEY" ${url ?? 'https://…'}`} />
      <p className="text-sm">{words.receives(workload.kind)}</p>
    </section>
  );
}
