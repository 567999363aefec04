import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { JobView } from '../../../../runtime/contracts/api/jobs.ts';
import { useChange } from '../api/change.ts';
import { CreationPage } from '../environment/creation-page.tsx';
import { createText } from '../text/create.ts';
import { jobText } from '../text/jobs.ts';
import { readLines } from '../workloads/env-text.ts';
import { createBody, createWords, newJob, type JobDraft } from './draft.ts';
import { isShownAtField, JobFields } from './job-form.tsx';

/** The form of a new job. */
export function NewJob() {
  const place = useParams({ from: '/frame/projects/$project/environments/$environment' });
  const navigate = useNavigate();
  const [draft, setDraft] = useState<JobDraft>(newJob);
  const create = useChange<JobView>(place, ({ name }) => {
    void navigate({ to: '/projects/$project/environments/$environment/jobs/$job', params: { ...place, job: name } });
  });
  return (
    <CreationPage
      place={place}
      words={jobText.form}
      submit={() => create.mutate({ path: ['jobs'], method: 'POST', body: createBody(draft) })}
      disabled={create.isPending || readLines(draft.variables).faults.length > 0}
      error={isShownAtField(create.error) ? null : create.error}
      command={createWords(draft)}
    >
      <p className="text-sm">{createText.defaults}</p>
      <JobFields draft={draft} change={setDraft} error={create.error} isNew />
    </CreationPage>
  );
}
