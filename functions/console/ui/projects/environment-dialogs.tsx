import { useState } from 'react';
import type { EnvironmentView } from '../../../../runtime/contracts/api/projects.ts';
import { useProjectChange } from '../api/change.ts';
import { commandOf } from '../api/command.ts';
import { Field } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { projectText } from '../text/project.ts';
import { DeletionDialog } from '../workloads/danger.tsx';
import { changedLimits, limitFields, limitFlags, limitsOf } from './limits.ts';

const words = projectText.environments;

interface DialogProps {
  project: string;
  close: () => void;
}

/** Adds an environment to a project. */
export function CreateEnvironmentDialog({ project, close }: DialogProps) {
  const [name, setName] = useState('');
  const create = useProjectChange<EnvironmentView>(project, close);
  return (
    <FormDialog
      title={words.create}
      close={close}
      action={words.create}
      command={commandOf('environment', 'create', name || 'staging', '--project', project)}
      request={create}
      submit={() => create.mutate({ path: ['environments'], method: 'POST', body: { name } })}
    >
      <Field
        label={words.fields.name}
        value={name}
        onChange={(event) => setName(event.target.value)}
        required
        maxLength={100}
        autoComplete="off"
        spellCheck={false}
      />
    </FormDialog>
  );
}

/** Changes the limits of an environment. */
export function LimitsDialog({ project, environment, close }: DialogProps & { environment: EnvironmentView }) {
  const { name } = environment;
  // What the form showed first: only what differs from it is sent, so that what others change meanwhile stays.
  const [before] = useState(limitsOf(environment));
  const [after, setAfter] = useState(before);
  const save = useProjectChange<EnvironmentView>(project, close);
  const limits = changedLimits(before, after);
  return (
    <FormDialog
      title={words.changeTitle(name)}
      close={close}
      action={words.save}
      disabled={Object.keys(limits).length === 0}
      command={commandOf('environment', 'update', name, ...limitFlags(before, after), '--project', project)}
      request={save}
      submit={() => save.mutate({ path: ['environments', name], method: 'PATCH', body: { limits } })}
    >
      {limitFields.map((field) => (
        <Field
          key={field}
          label={words.fields[field]}
          value={after[field]}
          onChange={(event) => setAfter({ ...after, [field]: event.target.value })}
          autoComplete="off"
          spellCheck={false}
          {...(field === 'pods' ? { type: 'number', min: 1, max: 10_000 } : { maxLength: 20 })}
        />
      ))}
      <p>{words.changeHint}</p>
    </FormDialog>
  );
}

/** Deletes an environment with everything in it. */
export function DeleteEnvironmentDialog({ project, name, close }: DialogProps & { name: string }) {
  const remove = useProjectChange<EnvironmentView>(project, close);
  return (
    <DeletionDialog
      name={name}
      close={close}
      command={commandOf('environment', 'delete', name, '--project', project)}
      request={remove}
      submit={() => remove.mutate({ path: ['environments', name], method: 'DELETE' })}
    >
      <p>{words.deleteWhat}</p>
    </DeletionDialog>
  );
}
