import { useQuery } from '@tanstack/react-query';
import { useParams, useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import type { AppView } from '../../../../runtime/contracts/api/apps.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { appQuery, type Place } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { Button } from '../parts/button.tsx';
import { Command } from '../parts/command.tsx';
import { Field, valueOf } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { appSettingsText } from '../text/app-settings.ts';
import { appRoute } from './app.tsx';
import { Hosts } from './hosts.tsx';

const words = appSettingsText.settings;

interface AppProps {
  place: Place;
  app: AppView;
}

/** The settings of an app's pods, its hosts, and its deletion. */
export function Settings() {
  const { app: name, ...place } = useParams({ from: appRoute });
  const { data: app } = useQuery(appQuery(place, name));
  const mayChange = useMay(place.project, 'deployer');
  if (!app) return null;
  return (
    <div className="flex flex-col gap-8">
      <Pods place={place} app={app} mayChange={mayChange} />
      <Hosts place={place} app={app} mayChange={mayChange} />
      {mayChange && <Danger place={place} app={app} />}
    </div>
  );
}

/** The body of a request that sets what differs from the app as the form showed it first: what others change stays. */
function changeOf(form: HTMLFormElement, before: AppView): Record<string, unknown> {
  const [port, replicas] = [Number(valueOf(form, 'port')), Number(valueOf(form, 'replicas'))];
  const texts = (['memory', 'cpu', 'healthPath'] as const)
    .map((field) => [field, valueOf(form, field)] as const)
    .filter(([field, value]) => value !== (before[field] ?? ''))
    .map(([field, value]) => [field, value === '' ? null : value] as const);
  const autoRollback = valueOf(form, 'autoRollback') !== '';
  return {
    ...(port !== before.port && { port }),
    ...(replicas !== before.replicas && { replicas }),
    ...Object.fromEntries(texts),
    ...(autoRollback !== before.autoRollback && { autoRollback }),
  };
}

function Pods({ place, app, mayChange }: AppProps & { mayChange: boolean }) {
  const [before, setBefore] = useState(app);
  const [saves, setSaves] = useState(0);
  const [unchanged, setUnchanged] = useState(false);
  const save = useChange<AppView>(place, (saved) => {
    setBefore(saved);
    // Fields show what the app has now, so that the next save sends nothing that another person has changed.
    setSaves(saves + 1);
  });
  const submit = (form: HTMLFormElement) => {
    const body = changeOf(form, before);
    setUnchanged(Object.keys(body).length === 0);
    if (Object.keys(body).length > 0) save.mutate({ path: ['apps', app.name], method: 'PATCH', body });
  };
  return (
    <section aria-labelledby="pods" className="flex flex-col gap-4">
      <h2 id="pods" className="text-lg font-semibold">
        {words.title}
      </h2>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          submit(event.currentTarget);
        }}
      >
        <fieldset key={saves} disabled={!mayChange} className="grid grid-cols-1 gap-4 sm:grid-cols-2">
          <Field
            label={words.fields.port}
            name="port"
            type="number"
            min="1"
            max="65535"
            required
            defaultValue={before.port}
          />
          <Field
            label={words.fields.replicas}
            name="replicas"
            type="number"
            min="0"
            max="50"
            required
            defaultValue={before.replicas}
          />
          <Field label={words.fields.memory} name="memory" autoComplete="off" defaultValue={before.memory} />
          <Field label={words.fields.cpu} name="cpu" autoComplete="off" defaultValue={before.cpu} />
          <Field
            label={words.fields.healthPath}
            name="healthPath"
            autoComplete="off"
            defaultValue={before.healthPath}
          />
          <label className="flex items-center gap-2 text-sm">
            <input type="checkbox" name="autoRollback" defaultChecked={before.autoRollback} />
            {words.fields.autoRollback}
          </label>
        </fieldset>
        <p className="text-sm">{words.what}</p>
        {save.error && <ErrorNote error={save.error} />}
        {unchanged && <Note look="good">{words.unchanged}</Note>}
        {!unchanged && save.isSuccess && <Note look="good">{words.saved}</Note>}
        {mayChange && (
          <div>
            <Button type="submit" look="primary" disabled={save.isPending}>
              {words.save}
            </Button>
          </div>
        )}
        <Command
          command={commandOf('app', 'update', app.name, '--replicas', String(app.replicas), ...placeFlags(place))}
        />
      </form>
    </section>
  );
}

function Danger({ place, app: { name } }: AppProps) {
  const [asks, setAsks] = useState(false);
  return (
    <section
      aria-labelledby="danger"
      className="flex flex-col gap-2 rounded-lg border border-red-300 p-4 text-sm dark:border-red-900"
    >
      <h2 id="danger" className="text-lg font-semibold">
        {appSettingsText.danger.title}
      </h2>
      <p>{appSettingsText.danger.what}</p>
      <p>{appSettingsText.danger.stays}</p>
      <div>
        <Button look="danger" onClick={() => setAsks(true)}>
          {appSettingsText.danger.delete}
        </Button>
      </div>
      {asks && <DeleteDialog place={place} name={name} close={() => setAsks(false)} />}
    </section>
  );
}

function DeleteDialog({ place, name, close }: { place: Place; name: string; close: () => void }) {
  const router = useRouter();
  const [typed, setTyped] = useState('');
  const remove = useChange<unknown>(place, () => {
    void router.navigate({ to: '/projects/$project/environments/$environment', params: place });
  });
  return (
    <FormDialog
      title={appSettingsText.danger.deleteTitle(name)}
      close={close}
      action={appSettingsText.danger.delete}
      look="danger"
      disabled={typed !== name}
      command={commandOf('app', 'delete', name, ...placeFlags(place))}
      request={remove}
      submit={() => remove.mutate({ path: ['apps', name], method: 'DELETE' })}
    >
      <p>{appSettingsText.danger.what}</p>
      <p>{appSettingsText.danger.stays}</p>
      <p>{appSettingsText.danger.final}</p>
      <Field
        label={appSettingsText.danger.typeName(name)}
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
    </FormDialog>
  );
}
