import { useId } from 'react';
import { ApiError } from '../api/client.ts';
import type { Place } from '../api/queries.ts';
import { Area } from '../parts/area.tsx';
import { Select } from '../parts/choice.tsx';
import { Field } from '../parts/field.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { createText } from '../text/create.ts';
import { EnvironmentFields, FormGroup, FormSection } from '../workloads/environment-fields.tsx';
import type { AppDraft, AppField } from './draft.ts';

const words = createText.app;

interface FormProps {
  place: Place;
  draft: AppDraft;
  change: (draft: AppDraft) => void;
  /** Why the API refused the last request: shown at the field that it names. */
  error: unknown;
}

const sources = (['image', 'git'] as const).map((value) => ({ value, label: words.sources[value] }));
const credentialKinds = (['none', 'token', 'deployKey'] as const).map((value) => ({
  value,
  label: words.credentials[value],
}));

/** The fields of the API that the form shows, by the names of the API. */
const shownFields: readonly string[] = [
  'name',
  'image',
  'url',
  'branch',
  'path',
  'dockerfile',
  'port',
  'replicas',
  'healthPath',
  'memory',
  'cpu',
  'hostname',
  'volumes',
  'env',
  'secrets',
  'bindings',
];
const imageFields: readonly string[] = ['image'];
const gitFields: readonly string[] = ['url', 'branch', 'path', 'dockerfile'];

/** The field of the form that the API refused. */
function refusedField(error: unknown, { source }: AppDraft): string | undefined {
  if (!(error instanceof ApiError) || error.field === undefined) return undefined;
  // Such as `git.url`; below `env` and `secrets` are names of the user.
  const field = error.field.split('.').find((part) => shownFields.includes(part));
  const hidden = source === 'git' ? imageFields : gitFields;
  return field !== undefined && hidden.includes(field) ? undefined : field;
}

/** Whether the form shows the refusal at one of its fields. */
export function isShownAtField(error: unknown, draft: AppDraft): boolean {
  return refusedField(error, draft) !== undefined;
}

/** The fields of a new app. Fields for secrets keep their values to themselves until the form is sent. */
export function AppFields({ place, draft, change, error }: FormProps) {
  const set = (field: AppField, value: string) => change({ ...draft, [field]: value });
  const refused = refusedField(error, draft);
  const note = (field: string) => refused === field && <ErrorNote error={error} />;
  const input = (field: Exclude<AppField, 'source' | 'credentials'>, more: React.ComponentProps<'input'> = {}) => (
    <div className="flex flex-col gap-2">
      <Field
        label={words.fields[field]}
        value={draft[field]}
        onChange={(event) => set(field, event.target.value)}
        aria-invalid={refused === field}
        autoComplete="off"
        spellCheck={false}
        {...more}
      />
      {note(field)}
    </div>
  );
  return (
    <>
      {input('name', { required: true, maxLength: 63 })}
      <Select
        label={words.source}
        value={draft.source}
        onChange={(event) => set('source', event.target.value)}
        options={sources}
      />
      <p className="text-sm">{words.hint[draft.source === 'git' ? 'git' : 'image']}</p>
      {draft.source === 'image' && input('image', { required: true })}
      {draft.source === 'git' && (
        <>
          {input('url', { required: true })}
          <FormGroup>
            {input('branch')}
            {input('path')}
            {input('dockerfile')}
          </FormGroup>
          <Select
            label={words.fields.credentials}
            value={draft.credentials}
            onChange={(event) => set('credentials', event.target.value)}
            options={credentialKinds}
          />
          <Credential kind={draft.credentials} />
        </>
      )}
      <FormSection title={words.pods}>
        <FormGroup>
          {input('port', { type: 'number', min: 1, max: 65_535, required: true })}
          {input('replicas', { type: 'number', min: 0, max: 50, required: true })}
          {input('memory')}
          {input('cpu')}
          {input('healthPath')}
          {input('hostname')}
        </FormGroup>
        <Area
          label={words.fields.volumes}
          value={draft.volumes}
          rows={2}
          onChange={(event) => set('volumes', event.target.value)}
          aria-invalid={refused === 'volumes'}
        />
        {note('volumes')}
        <label className="flex items-center gap-2 text-sm">
          <input
            type="checkbox"
            checked={draft.autoRollback}
            onChange={(event) => change({ ...draft, autoRollback: event.target.checked })}
          />
          {words.fields.autoRollback}
        </label>
      </FormSection>
      <EnvironmentFields place={place} draft={draft} change={change} refused={refused} note={note} />
    </>
  );
}

/** The token or key of the repository; not controlled by React, which would write it into the page. */
function Credential({ kind }: { kind: string }) {
  const id = useId();
  if (kind === 'token') {
    return <Field label={words.fields.secret} name="credential" type="password" required autoComplete="off" />;
  }
  if (kind !== 'deployKey') return null;
  return (
    <div>
      <label htmlFor={id} className="mb-1 block text-sm font-medium">
        {words.fields.secret}
      </label>
      <textarea
        id={id}
        name="credential"
        required
        rows={5}
        spellCheck={false}
        autoComplete="off"
        className="w-full rounded-md border border-zinc-400 bg-white p-3 font-mono text-xs dark:border-zinc-600 dark:bg-zinc-900"
      />
    </div>
  );
}
