import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { ServiceView } from '../../../../runtime/contracts/api/services.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { listQuery, type Place } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { ObjectLinks } from '../environment/object-links.tsx';
import { State } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Command } from '../parts/command.tsx';
import { Facts } from '../parts/facts.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Note } from '../parts/note.tsx';
import { Time } from '../parts/time.tsx';
import { text } from '../text/common.ts';
import { serviceText as words } from '../text/services.ts';
import { DangerZone } from '../workloads/danger.tsx';
import { CredentialsDialog } from './credentials.tsx';
import { serviceQuery } from './queries.ts';
import { useService } from './service.tsx';

/** A service: its address, who is bound to it, its credentials and deletion. */
export function ServiceOverview() {
  const { place, name } = useService();
  const { data: view } = useQuery(serviceQuery(place, name));
  const navigate = useNavigate();
  const isAdmin = useMay(place.project, 'admin');
  if (!view) return null;
  return (
    <div className="flex flex-col gap-6">
      <ServiceFacts view={view} />
      <Command command={commandOf('service', 'show', name, ...placeFlags(place))} />
      <Bound place={place} name={name} />
      {isAdmin && <Credentials place={place} name={name} />}
      {isAdmin && (
        <DangerZone
          workload={{ place, kind: 'service', name }}
          effect={view.external ? words.deleteExternal : words.deleteManaged}
          deleted={() => void navigate({ to: '/projects/$project/environments/$environment', params: place })}
        />
      )}
    </div>
  );
}

function ServiceFacts({ view }: { view: ServiceView }) {
  const { status, message, type, external, host, port, tls, size, storageClass, createdAt } = view;
  return (
    <>
      {message !== undefined && <Note look={status === 'failed' ? 'bad' : 'warn'}>{message}</Note>}
      <Facts
        facts={[
          [words.type, type],
          [words.origin, external ? words.external : words.managed],
          [words.address, host !== undefined && <code key="address">{`${host}:${port ?? ''}`}</code>],
          [words.tls, tls ? words.tlsRequired : words.tlsNone],
          [words.size, size],
          [words.storageClass, storageClass],
          [words.created, <Time key="created" at={createdAt} />],
        ]}
      />
    </>
  );
}

/** The workloads of the environment that get the service's credentials. */
function Bound({ place, name }: { place: Place; name: string }) {
  const [apps, functions, jobs] = [
    useQuery(listQuery('apps', place)),
    useQuery(listQuery('functions', place)),
    useQuery(listQuery('jobs', place)),
  ];
  return (
    <section aria-labelledby="bound">
      <h2 id="bound" className="mb-2 text-lg font-semibold">
        {words.bound}
      </h2>
      <Loaded query={apps}>
        {(appList) => (
          <Loaded query={functions}>
            {(functionList) => (
              <Loaded query={jobs}>
                {(jobList) => {
                  const all = [
                    ...appList.items.map((item) => ({ ...item, kind: 'app' as const })),
                    ...functionList.items.map((item) => ({ ...item, kind: 'function' as const })),
                    ...jobList.items.map((item) => ({ ...item, kind: 'job' as const })),
                  ];
                  const bound = all.flatMap(({ kind, name: workload, bindings = [] }) =>
                    bindings
                      .filter(({ service }) => service === name)
                      .map(({ status }) => ({ kind, workload, status })),
                  );
                  const partial = [appList, functionList, jobList].some(({ nextCursor }) => nextCursor !== undefined);
                  return (
                    <>
                      {bound.length === 0 && !partial && <p className="text-sm">{words.unbound}</p>}
                      <ul className="flex flex-col gap-1 text-sm">
                        {bound.map(({ kind, workload, status }) => (
                          <li key={`${kind} ${workload}`}>
                            {text.kinds[kind]}{' '}
                            <ObjectLinks place={place} items={[{ kind, name: workload, remark: '' }]} />
                            <State state={status} />
                          </li>
                        ))}
                      </ul>
                      {partial && <p className="mt-2 text-sm">{text.errors.partial}</p>}
                    </>
                  );
                }}
              </Loaded>
            )}
          </Loaded>
        )}
      </Loaded>
    </section>
  );
}

function Credentials({ place, name }: { place: Place; name: string }) {
  const [open, setOpen] = useState(false);
  return (
    <section aria-labelledby="credentials" className="flex flex-col items-start gap-3">
      <h2 id="credentials" className="text-lg font-semibold">
        {words.credentials.title}
      </h2>
      <p className="text-sm">{words.credentials.hint}</p>
      <Button onClick={() => setOpen(true)}>{words.credentials.show}</Button>
      {open && <CredentialsDialog place={place} name={name} close={() => setOpen(false)} />}
    </section>
  );
}
