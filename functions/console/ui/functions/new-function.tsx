import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { FunctionView } from '../../../../runtime/contracts/api/functions.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { useMay } from '../api/role.ts';
import { Crumbs } from '../environment/crumbs.tsx';
import { Button } from '../parts/button.tsx';
import { Command } from '../parts/command.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { Heading } from '../parts/page.tsx';
import { functionText } from '../text/functions.ts';
import { readLines } from '../workloads/env-text.ts';
import { createBody, createWords, newDraft, type Draft } from './draft.ts';
import { FunctionFields, isShownAtField } from './function-form.tsx';
import { offerOf } from './offered.ts';

const words = functionText.form;

/** The form of a new function from code. */
export function NewFunction() {
  const { offer } = useSearch({ from: '/frame/projects/$project/environments/$environment/new-function' });
  return <NewFunctionForm key={offer} start={{ ...newDraft, ...offerOf(offer) }} />;
}

/** @param start what the form has first */
function NewFunctionForm({ start }: { start: Draft }) {
  const place = useParams({ from: '/frame/projects/$project/environments/$environment' });
  const navigate = useNavigate();
  const mayCreate = useMay(place.project, 'deployer');
  const [draft, setDraft] = useState<Draft>(start);
  const create = useChange<FunctionView>(place, (view) => {
    const params = { ...place, function: view.name };
    void navigate({ to: '/projects/$project/environments/$environment/functions/$function', params });
  });
  const hasFaults = readLines(draft.variables).faults.length > 0;
  return (
    <>
      <Crumbs {...place} />
      <Heading title={words.create} />
      {mayCreate && (
        <form
          className="flex max-w-3xl flex-col gap-4"
          onSubmit={(event) => {
            event.preventDefault();
            create.mutate({ path: ['functions'], method: 'POST', body: createBody(draft) });
          }}
        >
          <p className="text-sm">
            {words.hint[draft.runtime === '' ? 'image' : draft.runtime === 'python' ? 'python' : 'node']}{' '}
            {words.defaults}
          </p>
          <FunctionFields draft={draft} change={setDraft} error={create.error} isNew />
          {create.error !== null && !isShownAtField(create.error, draft, true) && <ErrorNote error={create.error} />}
          <div>
            <Button type="submit" look="primary" disabled={create.isPending || hasFaults}>
              {words.create}
            </Button>
          </div>
        </form>
      )}
      {!mayCreate && <p className="text-sm">{functionText.settings.viewer}</p>}
      <div className="mt-4">
        <Command command={commandOf(...createWords(draft), ...placeFlags(place))} />
      </div>
    </>
  );
}
