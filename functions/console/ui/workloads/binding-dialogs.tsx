import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { BindingView } from '../../../../runtime/contracts/api/bindings.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { listQuery } from '../api/queries.ts';
import { Select } from '../parts/choice.tsx';
import { Field } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { workloadText } from '../text/workloads.ts';
import { pathBelow, type Workload } from './workload.ts';

const words = workloadText.bindings;

interface DialogProps {
  workload: Workload;
  close: () => void;
}

/** Binds a workload to a service of its environment. @param bound the services that it is bound to */
export function BindDialog({ workload, bound, close }: DialogProps & { bound: readonly string[] }) {
  const { place, kind, name } = workload;
  const services = useQuery(listQuery('services', place));
  const free = (services.data?.items ?? []).filter((service) => !bound.includes(service.name));
  const [chosen, setChosen] = useState<string>();
  const [prefix, setPrefix] = useState('');
  const [database, setDatabase] = useState('');
  const service = chosen ?? free[0]?.name;
  const bind = useChange<BindingView>(place, close);
  const flags = [
    ...(prefix === '' ? [] : ['--prefix', prefix]),
    ...(database === '' ? [] : ['--database', database]),
    ...placeFlags(place),
  ];
  return (
    <FormDialog
      title={words.bind}
      close={close}
      action={words.bind}
      waits={services.isPending}
      disabled={service === undefined}
      command={commandOf(kind, 'bind', name, service ?? 'orders', ...flags)}
      request={bind}
      submit={() => {
        if (service === undefined) return;
        const body = { ...(prefix !== '' && { prefix }), ...(database !== '' && { database }) };
        bind.mutate({ path: pathBelow(workload, 'bindings', service), method: 'PUT', body });
      }}
    >
      {services.error && <ErrorNote error={services.error} retry={() => void services.refetch()} />}
      {services.data && free.length === 0 && <p>{words.noServices}</p>}
      {free.length > 0 && (
        <Select
          label={words.fields.service}
          options={free.map(({ name: value, type }) => ({ value, label: `${value} (${type})` }))}
          value={service}
          onChange={(event) => setChosen(event.target.value)}
        />
      )}
      <Field
        label={words.fields.prefix}
        value={prefix}
        onChange={(event) => setPrefix(event.target.value.trim())}
        maxLength={64}
        autoComplete="off"
        spellCheck={false}
      />
      <Field
        label={words.fields.database}
        value={database}
        onChange={(event) => setDatabase(event.target.value.trim())}
        maxLength={64}
        autoComplete="off"
        spellCheck={false}
      />
      <p>{words.bindWhat[kind]}</p>
    </FormDialog>
  );
}

/** Replaces the password of a binding. */
export function RenewDialog({ workload, service, close }: DialogProps & { service: string }) {
  const { place, kind, name } = workload;
  const renew = useChange<BindingView>(place, close);
  return (
    <FormDialog
      title={words.renewTitle(service)}
      close={close}
      action={words.renew}
      command={commandOf(kind, 'bind', name, service, ...placeFlags(place))}
      request={renew}
      submit={() => renew.mutate({ path: pathBelow(workload, 'bindings', service), method: 'PUT', body: {} })}
    >
      <p>{words.renewWhat}</p>
    </FormDialog>
  );
}

/** Removes a binding, and its database if the user says so. */
export function UnbindDialog({ workload, service, close }: DialogProps & { service: string }) {
  const { place, kind, name } = workload;
  const [drops, setDrops] = useState(false);
  const unbind = useChange<unknown>(place, close);
  return (
    <FormDialog
      title={words.unbindTitle(service)}
      close={close}
      action={words.unbind}
      look="danger"
      command={commandOf(kind, 'unbind', name, service, drops ? '--drop-database' : undefined, ...placeFlags(place))}
      request={unbind}
      submit={() =>
        unbind.mutate({
          path: pathBelow(workload, 'bindings', service),
          method: 'DELETE',
          query: { dropDatabase: drops || undefined },
        })
      }
    >
      <p>{words.unbindWhat}</p>
      <label className="flex gap-2">
        <input type="checkbox" checked={drops} onChange={(event) => setDrops(event.target.checked)} />
        {words.drop}
      </label>
    </FormDialog>
  );
}
