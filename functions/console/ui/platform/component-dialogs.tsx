import { useState } from 'react';
import { commandOf } from '../api/command.ts';
import { usePlatformChange } from '../api/platform-change.ts';
import { Field } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { platformText } from '../text/platform.ts';

const words = platformText.status;

interface DialogProps {
  name: string;
  close: () => void;
}

/** A change of a component of monitoring. */
function useComponentChange(name: string, close: () => void) {
  const change = usePlatformChange<unknown>('platform', close);
  const send = (body: object) => change.mutate({ path: ['platform', 'components', name], method: 'PATCH', body });
  return { change, send };
}

/** Starts a component. */
export function EnableDialog({ name, close }: DialogProps) {
  const { change, send } = useComponentChange(name, close);
  return (
    <FormDialog
      title={words.enableTitle(name)}
      close={close}
      action={words.enable}
      command={commandOf('platform', 'enable', name)}
      request={change}
      submit={() => send({ enabled: true })}
    >
      <p>{words.enableWhat}</p>
    </FormDialog>
  );
}

/** Stops a component, and deletes its data if the user says so. */
export function DisableDialog({ name, close }: DialogProps) {
  const { change, send } = useComponentChange(name, close);
  const [deletesData, setDeletesData] = useState(false);
  return (
    <FormDialog
      title={words.disableTitle(name)}
      close={close}
      action={words.disable}
      look="danger"
      command={commandOf('platform', 'disable', name, deletesData ? '--delete-data' : undefined)}
      request={change}
      submit={() => send({ enabled: false, ...(deletesData && { deleteData: true }) })}
    >
      <p>{words.disableWhat}</p>
      <label className="flex gap-2">
        <input type="checkbox" checked={deletesData} onChange={(event) => setDeletesData(event.target.checked)} />
        {words.deleteData}
      </label>
    </FormDialog>
  );
}

/** Sets the memory limit of a component. */
export function ResizeDialog({ name, memory, close }: DialogProps & { memory: string | undefined }) {
  const { change, send } = useComponentChange(name, close);
  const [typed, setTyped] = useState(memory ?? '');
  const size = typed.trim();
  return (
    <FormDialog
      title={words.resizeTitle(name)}
      close={close}
      action={words.resize}
      command={commandOf('platform', 'resize', name, '--memory', size === '' ? 'default' : size)}
      request={change}
      submit={() => send({ memory: size === '' ? null : size })}
    >
      <p>{words.resizeWhat}</p>
      <Field
        label={words.memoryField}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        maxLength={20}
        autoComplete="off"
        spellCheck={false}
      />
    </FormDialog>
  );
}
