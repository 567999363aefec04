import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { ProjectView } from '../../../../runtime/contracts/api/projects.ts';
import { request } from '../api/client.ts';
import { commandOf } from '../api/command.ts';
import { projectsQuery } from '../api/queries.ts';
import { Field } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { text } from '../text/common.ts';
import { projectText } from '../text/project.ts';

const words = projectText.create;

/** Creates a project, and shows it. */
export function NewProjectDialog({ close }: { close: () => void }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [title, setTitle] = useState('');
  const [typed, setTyped] = useState('prod');
  const environments = typed
    .split(',')
    .map((environment) => environment.trim())
    .filter((environment) => environment !== '');
  const create = useMutation({
    mutationFn: () =>
      request<ProjectView>('/projects', {
        method: 'POST',
        body: { name, environments, ...(title !== '' && { displayName: title }) },
      }),
    onSuccess: async () => {
      close();
      await Promise.all([
        client.invalidateQueries({ queryKey: projectsQuery.queryKey }),
        navigate({ to: '/projects/$project', params: { project: name } }),
      ]);
    },
    gcTime: 0,
  });
  const flags = environments.flatMap((environment) => ['--environment', environment]);
  return (
    <FormDialog
      title={text.projects.create}
      close={close}
      action={text.projects.create}
      disabled={environments.length === 0}
      command={commandOf('project', 'create', name || 'shop', ...(title === '' ? [] : ['--title', title]), ...flags)}
      request={create}
      submit={() => create.mutate()}
    >
      <p>{words.hint}</p>
      <Field
        label={words.name}
        value={name}
        onChange={(event) => setName(event.target.value)}
        required
        maxLength={100}
        autoComplete="off"
        spellCheck={false}
      />
      <Field
        label={words.title}
        value={title}
        onChange={(event) => setTitle(event.target.value)}
        maxLength={200}
        autoComplete="off"
      />
      <Field
        label={words.environments}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        required
        autoComplete="off"
        spellCheck={false}
      />
    </FormDialog>
  );
}
