import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { FunctionView } from '../../../../runtime/contracts/api/functions.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { Button } from '../parts/button.tsx';
import { ChangedMeanwhile } from '../parts/changed-meanwhile.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Note } from '../parts/note.tsx';
import { functionText } from '../text/functions.ts';
import { viewQuery } from '../workloads/queries.ts';
import { pathBelow, type Workload } from '../workloads/workload.ts';
import { changeBody, changedFields, changeWords, draftOf, type Draft, type DraftField } from './draft.ts';
import { FunctionDifference } from './function-difference.tsx';
import { FunctionFields, isShownAtField } from './function-form.tsx';
import type { Offered } from './offered.ts';

const words = functionText.form;

interface EditFunctionProps {
  workload: Workload;
  view: FunctionView;
  /** Values that the form has first. */
  offered: Offered;
}

/** Changes the code and settings of a function, after showing what differs. */
export function EditFunction({ workload, view, offered }: EditFunctionProps) {
  // What the form showed first: only what differs from it is sent, so that what others change meanwhile stays.
  const [before, setBefore] = useState(() => draftOf(view));
  const [draft, setDraft] = useState<Draft>({ ...before, ...offered });
  const [asks, setAsks] = useState(false);
  const changed = changedFields(before, draft);
  const seen = draftOf(view);
  const others = changedFields(before, seen);
  // A form in which nothing is written follows the function.
  if (changed.length === 0 && others.length > 0) {
    setBefore(seen);
    setDraft(seen);
  }
  const client = useQueryClient();
  const save = useChange<FunctionView>(workload.place, (saved) => {
    // At once, so that the form does not follow the older function of the page.
    client.setQueryData(viewQuery({ ...workload, kind: 'function' }).queryKey, saved);
    setAsks(false);
    setBefore(draftOf(saved));
    setDraft(draftOf(saved));
  });
  return (
    <>
      <form
        className="flex max-w-3xl flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save.reset();
          setAsks(true);
        }}
      >
        <FunctionFields draft={draft} change={setDraft} error={save.error} isNew={false} />
        {changed.length > 0 && <ChangedMeanwhile differences={differencesOf(others, before, seen)} />}
        {save.isSuccess && changed.length === 0 && <Note look="good">{words.saved}</Note>}
        <div>
          <Button type="submit" look="primary" disabled={changed.length === 0}>
            {words.review}
          </Button>
        </div>
      </form>
      {asks && (
        <FormDialog
          title={words.saveTitle(workload.name)}
          close={() => setAsks(false)}
          action={words.save(changed.length)}
          command={commandOf(...changeWords(before, draft), ...placeFlags(workload.place))}
          request={{ ...save, error: isShownAtField(save.error, draft, false) ? null : save.error }}
          submit={() =>
            save.mutate(
              { path: pathBelow(workload), method: 'PATCH', body: changeBody(before, draft) },
              // The reason is at its field, which the dialog covers.
              { onError: (error) => isShownAtField(error, draft, false) && setAsks(false) },
            )
          }
        >
          <FunctionDifference before={before} after={draft} fields={changed} />
        </FormDialog>
      )}
    </>
  );
}

const differencesOf = (fields: readonly DraftField[], before: Draft, after: Draft) =>
  fields.map((field) => ({ title: words.fields[field], before: before[field], after: after[field] }));
