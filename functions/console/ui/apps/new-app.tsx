import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { AppView } from '../../../../runtime/contracts/api/apps.ts';
import { useChange } from '../api/change.ts';
import { CreationPage } from '../environment/creation-page.tsx';
import { valueOf } from '../parts/field.tsx';
import { createText } from '../text/create.ts';
import { readLines } from '../workloads/env-text.ts';
import { secretField } from '../workloads/environment-draft.ts';
import { AppFields, isShownAtField } from './app-form.tsx';
import { createBody, createWords, newApp, type AppDraft } from './draft.ts';

const words = createText.app;

/** The form of a new app from an image or a git repository. */
export function NewApp() {
  const place = useParams({ from: '/frame/projects/$project/environments/$environment' });
  const navigate = useNavigate();
  const [draft, setDraft] = useState<AppDraft>(newApp);
  const create = useChange<AppView>(place, ({ name }) => {
    void navigate({ to: '/projects/$project/environments/$environment/apps/$app', params: { ...place, app: name } });
  });
  const submit = (form: HTMLFormElement) => {
    const values = new Map(draft.secrets.map(({ id }) => [id, valueOf(form, secretField(id))]));
    const body = createBody(draft, { credential: valueOf(form, 'credential'), values });
    create.mutate({ path: ['apps'], method: 'POST', body });
  };
  const hasFaults = readLines(draft.variables).faults.length > 0;
  return (
    <CreationPage
      place={place}
      words={words}
      submit={submit}
      disabled={create.isPending || hasFaults}
      error={create.error !== null && isShownAtField(create.error, draft) ? null : create.error}
      command={createWords(draft)}
    >
      <p className="text-sm">{createText.defaults}</p>
      <AppFields place={place} draft={draft} change={setDraft} error={create.error} />
    </CreationPage>
  );
}
