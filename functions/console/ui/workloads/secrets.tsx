import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { SecretView } from '../../../../runtime/contracts/api/variables.ts';
import { useChange } from '../api/change.ts';
import type { RequestOptions } from '../api/client.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { useMay } from '../api/role.ts';
import { Button } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Field, valueOf } from '../parts/field.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { cellLook, Cells, rowLook, wideCellLook } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { text } from '../text/common.ts';
import { workloadText } from '../text/workloads.ts';
import { secretsQuery } from './queries.ts';
import { pathBelow, type Workload } from './workload.ts';

const words = workloadText.secrets;

type Choice = { action: 'set' } | { action: 'reveal' | 'restore' | 'delete'; name: string };

/** A request about a secret of a workload. */
function useSecretRequest<Result>(workload: Workload, done?: () => void) {
  const { mutate, ...state } = useChange<Result>(workload.place, done);
  return {
    ...state,
    mutate: ({ name, below = [], ...options }: RequestOptions & { name: string; below?: string[] }) =>
      mutate({ ...options, path: pathBelow(workload, 'secrets', name, ...below) }),
  };
}

/** The command of `svc` about a secret of a workload. */
function secretCommand({ place, kind, name }: Workload, action: string, ...secret: string[]): string {
  return commandOf(kind, 'secret', action, name, ...secret, ...placeFlags(place));
}

/** The secrets of a workload, by name. A value is shown only on request, and the API records who asked. */
export function Secrets(workload: Workload) {
  const { place, kind } = workload;
  const mayChange = useMay(place.project, 'deployer');
  const mayReveal = useMay(place.project, 'admin');
  const [choice, setChoice] = useState<Choice>();
  const set = secretCommand(workload, 'set', 'DB_PASSWORD');
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
      <Loaded query={useQuery(secretsQuery(workload))}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={words.empty(kind)} hint={words.emptyHint} command={set} />
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
              <Command command={secretCommand(workload, 'list')} />
            </>
          )
        }
      </Loaded>
      {mayChange && (
        <div>
          <Button onClick={() => setChoice({ action: 'set' })}>{words.set}</Button>
        </div>
      )}
      {choice?.action === 'set' && <SetDialog workload={workload} close={() => setChoice(undefined)} />}
      {choice?.action === 'reveal' && (
        <RevealDialog workload={workload} name={choice.name} close={() => setChoice(undefined)} />
      )}
      {(choice?.action === 'delete' || choice?.action === 'restore') && (
        <ConfirmDialog workload={workload} {...choice} action={choice.action} close={() => setChoice(undefined)} />
      )}
    </section>
  );
}

function SetDialog({ workload, close }: { workload: Workload; close: () => void }) {
  const [name, setName] = useState('');
  const put = useSecretRequest<SecretView>(workload, close);
  return (
    <Dialog title={words.set} close={close}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          const form = event.currentTarget;
          put.mutate({ name, method: 'PUT', body: { value: valueOf(form, 'value') } });
        }}
      >
        <Field
          label={words.name}
          value={name}
          onChange={(event) => setName(event.target.value)}
          required
          autoComplete="off"
          spellCheck={false}
        />
        <Field label={words.value} name="value" type="password" required autoComplete="off" />
        <p className="text-sm">{words.applies[workload.kind]}</p>
        <Command command={secretCommand(workload, 'set', name.trim() || 'DB_PASSWORD')} />
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

function RevealDialog({ workload, name, close }: { workload: Workload; name: string; close: () => void }) {
  const reveal = useSecretRequest<SecretView & { value: string }>(workload);
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
        <Command command={secretCommand(workload, 'reveal', name)} />
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
  workload,
  name,
  action,
  close,
}: {
  workload: Workload;
  name: string;
  action: 'delete' | 'restore';
  close: () => void;
}) {
  const change = useSecretRequest<undefined>(workload, close);
  const options = action === 'delete' ? { method: 'DELETE' as const } : { method: 'POST' as const, below: ['restore'] };
  const command = secretCommand(workload, action, name);
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
