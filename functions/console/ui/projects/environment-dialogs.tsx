import { useState } from 'react';
import type { EnvironmentView } from '../../../../runtime/contracts/api/projects.ts';
import { useProjectChange } from '../api/change.ts';
import { commandOf } from '../api/command.ts';
import { Field, valueOf } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { projectText } from '../text/project.ts';
import { DeletionDialog } from '../workloads/danger.tsx';

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

const quantities = ['cpu', 'memory', 'storage', 'containerMemory'] as const;

/** Changes the limits of an environment. */
export function LimitsDialog({ project, environment, close }: DialogProps & { environment: EnvironmentView }) {
  // What the form showed first: only what differs from it is sent, so that what others change meanwhile stays.
  const [before] = useState(environment);
  const { name, limits } = before;
  const save = useProjectChange<EnvironmentView>(project, close);
  const submit = (form: HTMLFormElement) => {
    const pods = valueOf(form, 'pods');
    const changed = quantities.flatMap((limit) => {
      const value = valueOf(form, limit).trim();
      return value === limits?.[limit] ? [] : [[limit, value === '' ? null : value] as const];
    });
    const body = {
      limits: {
        ...Object.fromEntries(changed),
        ...(pods !== String(limits?.pods) && { pods: pods === '' ? null : Number(pods) }),
      },
    };
    save.mutate({ path: ['environments', name], method: 'PATCH', body });
  };
  const flags = ['--cpu', limits?.cpu ?? '16', '--memory', limits?.memory ?? '32Gi'];
  return (
    <FormDialog
      title={words.changeTitle(name)}
      close={close}
      action={words.save}
      command={commandOf('environment', 'update', name, ...flags, '--project', project)}
      request={save}
      submit={submit}
    >
      {quantities.map((limit) => (
        <Field
          key={limit}
          label={words.fields[limit]}
          name={limit}
          maxLength={20}
          autoComplete="off"
          spellCheck={false}
          defaultValue={limits?.[limit]}
        />
      ))}
      <Field label={words.fields.pods} name="pods" type="number" min="1" max="10000" defaultValue={limits?.pods} />
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
