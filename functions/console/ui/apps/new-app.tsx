import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { AppView } from '../../../../runtime/contracts/api/apps.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { useMay } from '../api/role.ts';
import { Crumbs } from '../environment/crumbs.tsx';
import { Button } from '../parts/button.tsx';
import { Command } from '../parts/command.tsx';
import { valueOf } from '../parts/field.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { Heading } from '../parts/page.tsx';
import { createText } from '../text/create.ts';
import { readLines } from '../workloads/env-text.ts';
import { AppFields, isShownAtField, secretField } from './app-form.tsx';
import { createBody, createWords, newApp, type AppDraft } from './draft.ts';

const words = createText.app;

/** The form of a new app from an image or a git repository. */
export function NewApp() {
  const place = useParams({ from: '/frame/projects/$project/environments/$environment' });
  const navigate = useNavigate();
  const mayCreate = useMay(place.project, 'deployer');
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
    <>
      <Crumbs {...place} />
      <Heading title={words.title} />
      {mayCreate && (
        <form
          className="flex max-w-3xl flex-col gap-4"
          onSubmit={(event) => {
            event.preventDefault();
            submit(event.currentTarget);
          }}
        >
          <p className="text-sm">{createText.defaults}</p>
          <AppFields place={place} draft={draft} change={setDraft} error={create.error} />
          {create.error !== null && !isShownAtField(create.error, draft) && <ErrorNote error={create.error} />}
          <div>
            <Button type="submit" look="primary" disabled={create.isPending || hasFaults}>
              {words.create}
            </Button>
          </div>
        </form>
      )}
      {!mayCreate && <p className="text-sm">{createText.mayNot}</p>}
      <div className="mt-4">
        <Command command={commandOf(...createWords(draft), ...placeFlags(place))} />
      </div>
    </>
  );
}
