import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { VolumeView } from '../../../../runtime/contracts/api/volumes.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { Crumbs } from '../environment/crumbs.tsx';
import { ObjectLinks } from '../environment/object-links.tsx';
import { State } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Command } from '../parts/command.tsx';
import { Facts } from '../parts/facts.tsx';
import { Field } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Note } from '../parts/note.tsx';
import { Heading } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { volumeText as words } from '../text/services.ts';
import { DangerZone } from '../workloads/danger.tsx';
import { volumeQuery } from './queries.ts';

const workloadKinds = ['app', 'function', 'job', 'service'] as const;

/** A volume: its size, who mounts it, growth and deletion. */
export function VolumePage() {
  const { volume: name, ...place } = useParams({
    from: '/frame/projects/$project/environments/$environment/volumes/$volume',
  });
  const query = useQuery(volumeQuery(place, name));
  const navigate = useNavigate();
  const mayGrow = useMay(place.project, 'deployer');
  const mayDelete = useMay(place.project, 'admin');
  const [grows, setGrows] = useState(false);
  return (
    <>
      <Crumbs {...place} />
      <Heading title={name}>
        {query.data && <State state={query.data.status} />}
        <span className="flex-1" />
        {mayGrow && query.data && <Button onClick={() => setGrows(true)}>{words.grow}</Button>}
      </Heading>
      <Loaded query={query}>
        {(view) => (
          <div className="flex flex-col gap-6">
            <VolumeFacts place={place} view={view} />
            <Command command={commandOf('volume', 'show', name, ...placeFlags(place))} />
            {mayDelete && (
              <DangerZone
                workload={{ place, kind: 'volume', name }}
                effect={words.delete}
                deleted={() => void navigate({ to: '/projects/$project/environments/$environment', params: place })}
              />
            )}
            {grows && <GrowDialog place={place} name={name} size={view.size} close={() => setGrows(false)} />}
          </div>
        )}
      </Loaded>
    </>
  );
}

function VolumeFacts({ place, view }: { place: Place; view: VolumeView }) {
  const { status, message, size, capacity, storageClass, accessMode, mountedBy, createdAt } = view;
  const users = mountedBy.flatMap(({ kind, name }) => {
    // The API names kinds as Kubernetes does.
    const known = workloadKinds.find((candidate) => candidate === kind.toLowerCase());
    return known ? [{ kind: known, name, remark: `(${known})` }] : [];
  });
  return (
    <>
      {message !== undefined && <Note look={status === 'failed' ? 'bad' : 'warn'}>{message}</Note>}
      <Facts
        facts={[
          [words.size, size],
          [words.capacity, capacity],
          [words.storageClass, storageClass],
          [words.accessMode, accessMode],
          [
            words.mounted,
            users.length === 0 ? words.unmounted : <ObjectLinks key="users" place={place} items={users} />,
          ],
          [words.created, <Time key="created" at={createdAt} />],
        ]}
      />
    </>
  );
}

function GrowDialog({ place, name, size, close }: { place: Place; name: string; size: string; close: () => void }) {
  const [next, setNext] = useState(size);
  const grow = useChange<VolumeView>(place, close);
  return (
    <FormDialog
      title={words.growTitle(name)}
      close={close}
      action={words.grow}
      disabled={next === '' || next === size}
      command={commandOf('volume', 'resize', name, '--size', next, ...placeFlags(place))}
      request={grow}
      submit={() => grow.mutate({ path: ['volumes', name], method: 'PATCH', body: { size: next } })}
    >
      <p>{words.growWhat}</p>
      <Field
        label={words.newSize}
        value={next}
        onChange={(event) => setNext(event.target.value)}
        maxLength={22}
        autoComplete="off"
        spellCheck={false}
      />
    </FormDialog>
  );
}
