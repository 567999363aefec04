import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { JobView } from '../../../../runtime/contracts/api/jobs.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { Button } from '../parts/button.tsx';
import { ChangedMeanwhile } from '../parts/changed-meanwhile.tsx';
import { Command } from '../parts/command.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { jobText } from '../text/jobs.ts';
import { viewQuery } from '../workloads/queries.ts';
import { pathBelow, type Workload } from '../workloads/workload.ts';
import { changeBody, changedFields, changeWords, jobDraftOf } from './draft.ts';
import { isShownAtField, JobFields } from './job-form.tsx';

const words = jobText.form;

/** Changes the settings of a job, for its later runs. */
export function EditJob({ workload, view }: { workload: Workload; view: JobView }) {
  // What the form showed first: only what differs from it is sent, so that what others change meanwhile stays.
  const [before, setBefore] = useState(() => jobDraftOf(view));
  const [draft, setDraft] = useState(before);
  const changed = changedFields(before, draft);
  const seen = jobDraftOf(view);
  const others = changedFields(before, seen);
  // A form in which nothing is written follows the job.
  if (changed.length === 0 && others.length > 0) {
    setBefore(seen);
    setDraft(seen);
  }
  const client = useQueryClient();
  const save = useChange<JobView>(workload.place, (saved) => {
    // At once, so that the form does not follow the older job of the page.
    client.setQueryData(viewQuery({ ...workload, kind: 'job' }).queryKey, saved);
    setBefore(jobDraftOf(saved));
    setDraft(jobDraftOf(saved));
  });
  return (
    <section aria-labelledby="change" className="flex flex-col gap-3">
      <h2 id="change" className="text-lg font-semibold">
        {words.settings}
      </h2>
      <form
        className="flex max-w-3xl flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate({ path: pathBelow(workload), method: 'PATCH', body: changeBody(before, draft) });
        }}
      >
        <JobFields draft={draft} change={setDraft} error={save.error} isNew={false} />
        {changed.length > 0 && (
          <ChangedMeanwhile
            differences={others.map((field) => ({
              title: words.fields[field],
              before: before[field],
              after: seen[field],
            }))}
          />
        )}
        {save.error && !isShownAtField(save.error) && <ErrorNote error={save.error} />}
        {save.isSuccess && changed.length === 0 && <Note look="good">{words.saved}</Note>}
        <div>
          <Button type="submit" look="primary" disabled={changed.length === 0 || save.isPending}>
            {words.save(changed.length)}
          </Button>
        </div>
      </form>
      <Command command={commandOf(...changeWords(before, draft), ...placeFlags(workload.place))} />
    </section>
  );
}
