import { useState } from 'react';
import type { AppView } from '../../../../runtime/contracts/api/apps.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { Button } from '../parts/button.tsx';
import { Command } from '../parts/command.tsx';
import { Field, valueOf } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { cellLook, Cells, rowLook } from '../parts/page.tsx';
import { appSettingsText } from '../text/app-settings.ts';

const words = appSettingsText.hosts;

interface HostsProps {
  place: Place;
  app: AppView;
  mayChange: boolean;
}

/** The public hosts of an app, its own first. */
export function Hosts({ place, app, mayChange }: HostsProps) {
  const [choice, setChoice] = useState<{ remove?: string }>();
  const own = app.url === undefined ? undefined : URL.parse(app.url)?.hostname;
  const close = () => setChoice(undefined);
  return (
    <section aria-labelledby="hosts" className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center gap-2">
        <h2 id="hosts" className="text-lg font-semibold">
          {words.title}
        </h2>
        <span className="flex-1" />
        {mayChange && <Button onClick={() => setChoice({})}>{words.add}</Button>}
      </div>
      <table className="w-full text-sm">
        <Cells
          heads={[{ title: words.host }, { title: words.kind }, ...(mayChange ? [{ title: words.actions }] : [])]}
        />
        <tbody>
          {[...(own === undefined ? [] : [own]), ...app.extraHosts].map((host, index) => (
            <tr key={host} className={rowLook}>
              <th scope="row" className={`${cellLook} text-left font-medium`}>
                {host}
              </th>
              <td className={cellLook}>{index === 0 && host === own ? words.own : words.extra}</td>
              {mayChange && (
                <td className={cellLook}>
                  {app.extraHosts.includes(host) && (
                    <Button aria-label={words.removeName(host)} onClick={() => setChoice({ remove: host })}>
                      {words.remove}
                    </Button>
                  )}
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
      <Command command={commandOf('app', 'host', 'list', app.name, ...placeFlags(place))} />
      {choice?.remove !== undefined && <RemoveDialog {...{ place, app, close }} host={choice.remove} />}
      {choice && choice.remove === undefined && <AddDialog {...{ place, app, close }} />}
    </section>
  );
}

interface DialogProps {
  place: Place;
  app: AppView;
  close: () => void;
}

function AddDialog({ place, app: { name }, close }: DialogProps) {
  const add = useChange<AppView>(place, close);
  const hostIn = (form: HTMLFormElement) => valueOf(form, 'host').trim();
  const commandFor = (host: string) =>
    commandOf('app', 'host', 'add', name, host || 'www.example.com', ...placeFlags(place));
  return (
    <FormDialog
      title={words.add}
      close={close}
      action={words.add}
      command={commandFor('')}
      commandFor={(form) => commandFor(hostIn(form))}
      request={add}
      submit={(form) => {
        const body = { add: [hostIn(form)] };
        add.mutate({ path: ['apps', name, 'hosts'], method: 'PATCH', body });
      }}
    >
      <Field label={words.hostLabel} name="host" required maxLength={253} autoComplete="off" spellCheck={false} />
      <p>{words.advice}</p>
    </FormDialog>
  );
}

function RemoveDialog({ place, app: { name }, host, close }: DialogProps & { host: string }) {
  const remove = useChange<AppView>(place, close);
  return (
    <FormDialog
      title={words.removeTitle(host)}
      close={close}
      action={words.remove}
      look="danger"
      command={commandOf('app', 'host', 'remove', name, host, ...placeFlags(place))}
      request={remove}
      submit={() => remove.mutate({ path: ['apps', name, 'hosts'], method: 'PATCH', body: { remove: [host] } })}
    >
      <p>{words.removeWhat}</p>
    </FormDialog>
  );
}
