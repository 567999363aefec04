import { ApiError } from '../api/client.ts';
import { Area } from '../parts/area.tsx';
import { Select } from '../parts/choice.tsx';
import { Field } from '../parts/field.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { functionText } from '../text/functions.ts';
import { CodeField } from './code-field.tsx';
import { hasField, type Draft, type DraftField } from './draft.ts';
import { ScheduleField } from './schedule-field.tsx';

const words = functionText.form;
const runtimes = (['node', 'python'] as const).map((value) => ({
  value,
  label: functionText.overview.runtimes[value],
}));
const triggers = (['http', 'cron', 'postgres', 'mysql', 'redis', 'minio'] as const).map((value) => ({
  value,
  label: functionText.overview.triggers[value],
}));

/** The fields that have a place for a refusal only in the form of a new function. */
const newFields: readonly string[] = ['name', 'bindings'];

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
  const has = (field: DraftField) => hasField(draft.trigger, field);
  const isRefused = (field: DraftField) => refusedField !== undefined && refusedField.split('.').includes(field);
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
  const code = draft.runtime !== '';
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
      {isNew && input('bindings')}
    </>
  );
}

/** Whether the form shows the refusal at one of its fields. */
export function isShownAtField(error: unknown, draft: Draft, isNew: boolean): boolean {
  if (!(error instanceof ApiError) || error.field === undefined) return false;
  const parts = error.field.split('.');
  return parts.some((part) => (isNew && newFields.includes(part)) || hasField(draft.trigger, part as DraftField));
}
