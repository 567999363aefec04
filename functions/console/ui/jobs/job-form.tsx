import { ApiError } from '../api/client.ts';
import { ScheduleField } from '../functions/schedule-field.tsx';
import { Area } from '../parts/area.tsx';
import { Select } from '../parts/choice.tsx';
import { Field } from '../parts/field.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { jobText } from '../text/jobs.ts';
import { workloadText } from '../text/workloads.ts';
import { readLines } from '../workloads/env-text.ts';
import { jobFields, type JobDraft, type JobField } from './draft.ts';

const words = jobText.form;
const starts = (['demand', 'schedule'] as const).map((value) => ({ value, label: words.starts[value] }));
const overlaps = Object.entries(workloadText.schedule.overlaps).map(([value, label]) => ({ value, label }));
const firstSchedule = '0 2 * * *';

interface JobFieldsProps {
  draft: JobDraft;
  change: (draft: JobDraft) => void;
  /** Why the API refused the last request: shown at the field that it names. */
  error: unknown;
  /** The name, bindings and variables are chosen in this form for a new job only. */
  isNew: boolean;
}

/** The field of the form that the API refused. */
function refusedField(error: unknown): JobField | undefined {
  if (!(error instanceof ApiError) || error.field === undefined) return undefined;
  const parts = error.field.split('.').map((part) => (part === 'env' ? 'variables' : part));
  return jobFields.find((field) => parts.includes(field));
}

/** Whether the form shows the refusal at one of its fields. */
export function isShownAtField(error: unknown): boolean {
  return refusedField(error) !== undefined;
}

/** The fields of a job. */
export function JobFields({ draft, change, error, isNew }: JobFieldsProps) {
  const set = (field: JobField, value: string) => change({ ...draft, [field]: value });
  const refused = refusedField(error);
  const note = (field: JobField) => refused === field && <ErrorNote error={error} />;
  const props = (field: JobField) => ({
    label: words.fields[field],
    value: draft[field],
    'aria-invalid': refused === field,
  });
  const input = (field: JobField, more: React.ComponentProps<'input'> = {}) => (
    <div className="flex flex-col gap-2">
      <Field
        {...props(field)}
        onChange={(event) => set(field, event.target.value)}
        autoComplete="off"
        spellCheck={false}
        {...more}
      />
      {note(field)}
    </div>
  );
  const area = (field: JobField, rows: number) => (
    <>
      <Area {...props(field)} rows={rows} onChange={(event) => set(field, event.target.value)} />
      {note(field)}
    </>
  );
  const { faults } = readLines(draft.variables);
  const hasSchedule = draft.schedule !== '';
  return (
    <>
      {isNew && input('name', { required: true, maxLength: 63 })}
      {input('image', { required: true })}
      {area('command', 2)}
      <Select
        label={words.start}
        options={starts}
        value={hasSchedule ? 'schedule' : 'demand'}
        onChange={(event) => set('schedule', event.target.value === 'schedule' ? firstSchedule : '')}
      />
      {hasSchedule && (
        <>
          <ScheduleField
            schedule={draft.schedule}
            timeZone={draft.timeZone}
            // An empty expression would be no schedule, and end the field while it is written.
            set={(field, value) => set(field, field === 'schedule' && value === '' ? ' ' : value)}
          />
          {note('schedule')}
          {note('timeZone')}
          <Select
            label={workloadText.schedule.overlap}
            options={overlaps}
            value={draft.overlap || 'Forbid'}
            onChange={(event) => set('overlap', event.target.value)}
          />
        </>
      )}
      <div className="grid grid-cols-1 items-end gap-4 sm:grid-cols-2">
        {input('retries', { type: 'number', min: 0, max: 10, required: !isNew })}
        {input('timeoutSeconds', { type: 'number', min: 1 })}
        {input('historyLimit', { type: 'number', min: 1, max: 20, required: !isNew })}
        {input('memory')}
        {input('cpu')}
      </div>
      {area('volumes', 2)}
      {isNew && input('bindings')}
      {isNew && area('variables', 3)}
      {isNew && <p className="text-sm">{workloadText.variables.emptyHint}</p>}
      {isNew && faults.length > 0 && <Note look="bad">{workloadText.variables.faults(faults.join(', '))}</Note>}
    </>
  );
}
