import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { SecretView } from '../../../../runtime/contracts/api/variables.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { pathOf, request, type RequestOptions } from '../api/client.ts';
import { appQuery, secretsQuery, type Place } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { Button } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Field, valueOf } from '../parts/field.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { cellLook, Cells, rowLook, wideCellLook } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { appText } from '../text/apps.ts';
import { text } from '../text/common.ts';

const words = appText.secrets;

interface AppSecrets {
  place: Place;
  app: string;
}

type Choice = { action: 'set' } | { action: 'reveal' | 'restore' | 'delete'; name: string };

/** A request about a secret of an app; when it ends, the list and the state of the app are read again. */
function useSecretRequest<Result>({ place, app }: AppSecrets, done?: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ name, below = [], ...options }: RequestOptions & { name: string; below?: string[] }) =>
      request<Result>(pathOf('projects', place.project, 'apps', app, 'secrets', name, ...below), {
        ...options,
        query: { environment: place.environment },
      }),
    onSuccess: async () => {
      done?.();
      await client.invalidateQueries({ queryKey: appQuery(place, app).queryKey });
    },
    // A value that was revealed is not kept once its dialog is closed.
    gcTime: 0,
  });
}

/** The secrets of an app, by name. A value is shown only on request, and the API records who asked. */
export function Secrets({ place, app }: AppSecrets) {
  const mayChange = useMay(place.project, 'deployer');
  const mayReveal = useMay(place.project, 'admin');
  const [choice, setChoice] = useState<Choice>();
  const set = commandOf('app', 'secret', 'set', app, 'DB_PASSWORD', ...placeFlags(place));
  const choose = (action: 'reveal' | 'restore' | 'delete', name: string) => (
    <Button aria-label={words.buttonName[action](name)} onClick={() => setChoice({ action, name })}>
      {words.button[action]}
    </Button>
  );
  return (
    <section aria-labelledby="secrets" className="flex flex-col gap-4">
      <h2 id="secrets" className="text-lg font-semibold">
        {words.title}
      </h2>
      <Loaded query={useQuery(secretsQuery(place, app))}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={words.empty} hint={words.emptyHint} command={set} />
          ) : (
            <>
              <table className="w-full text-sm">
                <Cells
                  heads={[{ title: words.name }, { title: words.updated, wide: true }, { title: words.actions }]}
                />
                <tbody>
                  {items.map(({ name, updatedAt, hasPrevious }: SecretView) => (
                    <tr key={name} className={rowLook}>
                      <th scope="row" className={`${cellLook} text-left font-mono font-medium`}>
                        {name}
                      </th>
                      <td className={wideCellLook}>
                        <Time at={updatedAt} />
                      </td>
                      <td className={`${cellLook} flex flex-wrap gap-2`}>
                        {mayReveal && choose('reveal', name)}
                        {mayChange && hasPrevious && choose('restore', name)}
                        {mayChange && choose('delete', name)}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
              <Command command={commandOf('app', 'secret', 'list', app, ...placeFlags(place))} />
            </>
          )
        }
      </Loaded>
      {mayChange && (
        <div>
          <Button onClick={() => setChoice({ action: 'set' })}>{words.set}</Button>
        </div>
      )}
      {choice?.action === 'set' && <SetDialog place={place} app={app} close={() => setChoice(undefined)} />}
      {choice?.action === 'reveal' && (
        <RevealDialog place={place} app={app} name={choice.name} close={() => setChoice(undefined)} />
      )}
      {(choice?.action === 'delete' || choice?.action === 'restore') && (
        <ConfirmDialog place={place} app={app} {...choice} action={choice.action} close={() => setChoice(undefined)} />
      )}
    </section>
  );
}

function SetDialog({ place, app, close }: AppSecrets & { close: () => void }) {
  const put = useSecretRequest<SecretView>({ place, app }, close);
  return (
    <Dialog title={words.set} close={close}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          const form = event.currentTarget;
          put.mutate({ name: valueOf(form, 'name'), method: 'PUT', body: { value: valueOf(form, 'value') } });
        }}
      >
        <Field label={words.name} name="name" required autoComplete="off" spellCheck={false} />
        <Field label={words.value} name="value" type="password" required autoComplete="off" />
        <p className="text-sm">{words.applies}</p>
        <Command command={commandOf('app', 'secret', 'set', app, 'DB_PASSWORD', ...placeFlags(place))} />
        {put.error && <ErrorNote error={put.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={close}>{text.cancel}</Button>
          <Button type="submit" look="primary" disabled={put.isPending}>
            {words.save}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function RevealDialog({ place, app, name, close }: AppSecrets & { name: string; close: () => void }) {
  const reveal = useSecretRequest<SecretView & { value: string }>({ place, app });
  return (
    <Dialog title={words.buttonName.reveal(name)} close={close}>
      <div className="flex flex-col gap-3 text-sm">
        {reveal.data ? (
          <pre className="max-h-80 overflow-auto rounded-md bg-zinc-100 p-3 whitespace-pre-wrap dark:bg-zinc-800">
            {reveal.data.value}
          </pre>
        ) : (
          <p>{words.recorded}</p>
        )}
        <Command command={commandOf('app', 'secret', 'reveal', app, name, ...placeFlags(place))} />
        {reveal.error && <ErrorNote error={reveal.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={close}>{text.close}</Button>
          {!reveal.data && (
            <Button look="primary" onClick={() => reveal.mutate({ name })} disabled={reveal.isPending}>
              {words.button.reveal}
            </Button>
          )}
        </div>
      </div>
    </Dialog>
  );
}

function ConfirmDialog({
  place,
  app,
  name,
  action,
  close,
}: AppSecrets & { name: string; action: 'delete' | 'restore'; close: () => void }) {
  const change = useSecretRequest<undefined>({ place, app }, close);
  const options = action === 'delete' ? { method: 'DELETE' as const } : { method: 'POST' as const, below: ['restore'] };
  const command = commandOf('app', 'secret', words.command[action], app, name, ...placeFlags(place));
  return (
    <Dialog title={words.buttonName[action](name)} close={close}>
      <div className="flex flex-col gap-3 text-sm">
        <p>{words.effect[action]}</p>
        <Command command={command} />
        {change.error && <ErrorNote error={change.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={close}>{text.cancel}</Button>
          <Button
            look={action === 'delete' ? 'danger' : 'primary'}
            onClick={() => change.mutate({ name, ...options })}
            disabled={change.isPending}
          >
            {words.button[action]}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
