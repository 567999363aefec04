import { useQuery } from '@tanstack/react-query';
import { useParams, useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import type { AppView } from '../../../../runtime/contracts/api/apps.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { appQuery, type Place } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { Button } from '../parts/button.tsx';
import { Field } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { appSettingsText } from '../text/app-settings.ts';
import { appRoute } from './app.tsx';
import { Hosts } from './hosts.tsx';
import { SettingsForm } from './settings-form.tsx';

interface AppProps {
  place: Place;
  app: AppView;
}

/** The settings of an app's pods, its hosts, its security headers, and its deletion. */
export function Settings() {
  const { app: name, ...place } = useParams({ from: appRoute });
  const { data: app } = useQuery(appQuery(place, name));
  const mayChange = useMay(place.project, 'deployer');
  if (!app) return null;
  return (
    <div className="flex flex-col gap-8">
      <SettingsForm place={place} app={app} group="pods" mayChange={mayChange} />
      <Hosts place={place} app={app} mayChange={mayChange} />
      <SettingsForm place={place} app={app} group="security" mayChange={mayChange} />
      {mayChange && <Danger place={place} app={app} />}
    </div>
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
