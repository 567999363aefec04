import { ApiError } from '../api/client.ts';
import { Area } from '../parts/area.tsx';
import { Select } from '../parts/choice.tsx';
import { Field } from '../parts/field.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { functionText } from '../text/functions.ts';
import { workloadText } from '../text/workloads.ts';
import { readLines } from '../workloads/env-text.ts';
import { CodeField } from './code-field.tsx';
import { hasField, type Draft, type DraftField } from './draft.ts';
import { ScheduleField } from './schedule-field.tsx';

const words = functionText.form;
const runtimes = [
  ...(['node', 'python'] as const).map((value) => ({ value, label: functionText.overview.runtimes[value] })),
  { value: '', label: words.imageInstead },
];
const overlaps = [
  { value: '', label: words.defaultOverlap },
  ...Object.entries(workloadText.schedule.overlaps).map(([value, label]) => ({ value, label })),
];
const triggers = (['http', 'cron', 'postgres', 'mysql', 'redis', 'minio'] as const).map((value) => ({
  value,
  label: functionText.overview.triggers[value],
}));

/** The fields that have a place for a refusal only in the form of a new function. */
const newFields: readonly string[] = ['name', 'bindings', 'env'];

interface FunctionFieldsProps {
  draft: Draft;
  change: (draft: Draft) => void;
  /** Why the API refused the last request: shown at the field that it names. */
  error: unknown;
  /** The name, runtime, trigger and bindings can only be chosen for a new function. */
  isNew: boolean;
}

/** The fields of a function that its trigger has. */
export function FunctionFields({ draft, change, error, isNew }: FunctionFieldsProps) {
  const set = (field: DraftField, value: string) => change({ ...draft, [field]: value });
  const refusedField = error instanceof ApiError ? error.field : undefined;
  const has = (field: DraftField) => hasField(draft, field);
  const isRefused = (field: DraftField) =>
    refusedField !== undefined && refusedField.split('.').includes(field === 'variables' ? 'env' : field);
  const { faults } = readLines(draft.variables);
  const note = (field: DraftField) => isRefused(field) && <ErrorNote error={error} />;
  const input = (field: DraftField, more: React.ComponentProps<'input'> = {}) => (
    <>
      <Field
        label={words.fields[field]}
        value={draft[field]}
        onChange={(event) => set(field, event.target.value)}
        aria-invalid={isRefused(field)}
        autoComplete="off"
        spellCheck={false}
        {...more}
      />
      {note(field)}
    </>
  );
  const area = (field: DraftField, more: { rows?: number; required?: boolean } = {}) => (
    <>
      <Area
        label={words.fields[field]}
        value={draft[field]}
        onChange={(event) => set(field, event.target.value)}
        aria-invalid={isRefused(field)}
        {...more}
      />
      {note(field)}
    </>
  );
  const count = (field: DraftField, min: number) =>
    has(field) && input(field, { type: 'number', min, required: !isNew });
  const code = has('code');
  return (
    <>
      {isNew && input('name', { required: true, maxLength: 63 })}
      {isNew && (
        <Select
          label={words.fields.runtime}
          value={draft.runtime}
          onChange={(event) => set('runtime', event.target.value)}
          options={runtimes}
        />
      )}
      {has('image') && input('image', { required: true })}
      {code && (
        <>
          <CodeField
            label={words.fields.code}
            value={draft.code}
            change={(value) => set('code', value)}
            language={draft.runtime === 'python' ? 'python' : 'node'}
            isInvalid={isRefused('code')}
            isRequired={isNew}
          />
          {note('code')}
        </>
      )}
      {code && !isNew && <p className="text-sm">{words.codeStays}</p>}
      {code && area('dependencies', { rows: 2 })}
      {isNew && (
        <Select
          label={words.fields.trigger}
          value={draft.trigger}
          onChange={(event) => set('trigger', event.target.value)}
          options={triggers}
        />
      )}
      {has('schedule') && <ScheduleField schedule={draft.schedule} timeZone={draft.timeZone} set={set} />}
      {has('schedule') && (note('schedule') || note('timeZone'))}
      {has('overlap') && (
        <Select
          label={workloadText.schedule.overlap}
          value={draft.overlap}
          onChange={(event) => set('overlap', event.target.value)}
          options={isNew ? overlaps : overlaps.slice(1)}
        />
      )}
      {has('source') && input('source', { required: true })}
      {has('query') && area('query', { required: true })}
      {has('markDone') && area('markDone')}
      {has('list') && input('list', { required: true })}
      {has('bucket') && input('bucket', { required: true })}
      {count('idleTimeoutSeconds', 1)}
      {count('concurrency', 1)}
      {count('minReplicas', 0)}
      {count('maxReplicas', 1)}
      {input('memory')}
      {input('cpu')}
      {count('port', 1)}
      {area('volumes', { rows: 2 })}
      {isNew && input('bindings')}
      {isNew && area('variables', { rows: 3 })}
      {isNew && <p className="text-sm">{workloadText.variables.emptyHint}</p>}
      {isNew && faults.length > 0 && <Note look="bad">{workloadText.variables.faults(faults.join(', '))}</Note>}
    </>
  );
}

/** Whether the form shows the refusal at one of its fields. */
export function isShownAtField(error: unknown, draft: Draft, isNew: boolean): boolean {
  if (!(error instanceof ApiError) || error.field === undefined) return false;
  const parts = error.field.split('.');
  return parts.some((part) => (isNew && newFields.includes(part)) || hasField(draft, part as DraftField));
}
