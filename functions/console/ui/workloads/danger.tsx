import { useState } from 'react';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { Button } from '../parts/button.tsx';
import { Field } from '../parts/field.tsx';
import { FormDialog, type FormDialogProps } from '../parts/form-dialog.tsx';
import { workloadText } from '../text/workloads.ts';

const words = workloadText.danger;

/** An object of an environment whose list in the API has the plural of its kind. */
interface Deletable {
  place: Place;
  kind: 'app' | 'function' | 'job' | 'service' | 'volume';
  name: string;
}

interface DangerProps {
  workload: Deletable;
  /** What is lost. */
  effect: string;
  /** Called once the API has accepted the deletion. */
  deleted: () => void;
  /** Text of the box that also deletes events that are not delivered; absent where there are none. */
  discard?: string | undefined;
}

/** The deletion of an object, behind its name. */
export function DangerZone({ effect, ...rest }: DangerProps) {
  const [open, setOpen] = useState(false);
  return (
    <DangerSection effect={effect} action={words.delete(rest.workload.kind)} open={() => setOpen(true)}>
      {open && <DeleteDialog effect={effect} {...rest} close={() => setOpen(false)} />}
    </DangerSection>
  );
}

interface SectionProps {
  effect: string;
  /** The text of the button that opens the dialog. */
  action: string;
  open: () => void;
  /** The dialog, while it is open. */
  children: React.ReactNode;
}

/** The end of a page, with what cannot be undone. */
export function DangerSection({ effect, action, open, children }: SectionProps) {
  return (
    <section
      aria-labelledby="danger"
      className="flex flex-col items-start gap-3 rounded-md border border-red-300 p-4 dark:border-red-900"
    >
      <h2 id="danger" className="text-lg font-semibold">
        {words.title}
      </h2>
      <p className="text-sm">{effect}</p>
      <Button look="danger" onClick={open}>
        {action}
      </Button>
      {children}
    </section>
  );
}

type DeletionProps = Pick<FormDialogProps, 'close' | 'command' | 'request' | 'children'> & {
  name: string;
  submit: () => void;
};

/** Asks for the name of an object before it is deleted. */
export function DeletionDialog({ name, children, ...rest }: DeletionProps) {
  const [typed, setTyped] = useState('');
  return (
    <FormDialog {...rest} title={words.dialog(name)} action={words.action} look="danger" disabled={typed !== name}>
      {children}
      <Field
        label={words.type(name)}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        autoComplete="off"
        spellCheck={false}
      />
    </FormDialog>
  );
}

function DeleteDialog({ workload, effect, discard, deleted, close }: DangerProps & { close: () => void }) {
  const { place, kind, name } = workload;
  const [discardEvents, setDiscardEvents] = useState(false);
  const remove = useChange<unknown>(place, deleted);
  const flags = [discardEvents ? '--discard-events' : undefined, ...placeFlags(place)];
  return (
    <DeletionDialog
      name={name}
      close={close}
      command={commandOf(kind, 'delete', name, ...flags)}
      request={remove}
      submit={() =>
        remove.mutate({
          path: [`${kind}s`, name],
          method: 'DELETE',
          query: { discardEvents: discardEvents || undefined },
        })
      }
    >
      <p>{effect}</p>
      {discard !== undefined && (
        <label className="flex gap-2">
          <input type="checkbox" checked={discardEvents} onChange={(event) => setDiscardEvents(event.target.checked)} />
          {discard}
        </label>
      )}
    </DeletionDialog>
  );
}
