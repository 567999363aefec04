import { useQuery } from '@tanstack/react-query';
import { useId } from 'react';
import { ApiError } from '../api/client.ts';
import { listQuery, type Place } from '../api/queries.ts';
import { Area } from '../parts/area.tsx';
import { Button } from '../parts/button.tsx';
import { Select } from '../parts/choice.tsx';
import { Field } from '../parts/field.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { text } from '../text/common.ts';
import { createText } from '../text/create.ts';
import { readLines } from '../workloads/env-text.ts';
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
  ...['name', 'image', 'url', 'branch', 'path', 'dockerfile', 'port', 'replicas', 'healthPath', 'memory', 'cpu'],
  ...['hostname', 'volumes', 'env', 'secrets', 'bindings'],
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
  const { faults } = readLines(draft.variables);
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
          <Group>
            {input('branch')}
            {input('path')}
            {input('dockerfile')}
          </Group>
          <Select
            label={words.fields.credentials}
            value={draft.credentials}
            onChange={(event) => set('credentials', event.target.value)}
            options={credentialKinds}
          />
          <Credential kind={draft.credentials} />
        </>
      )}
      <Section title={words.pods}>
        <Group>
          {input('port', { type: 'number', min: 1, max: 65_535, required: true })}
          {input('replicas', { type: 'number', min: 0, max: 50, required: true })}
          {input('memory')}
          {input('cpu')}
          {input('healthPath')}
          {input('hostname')}
        </Group>
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
      </Section>
      <Section title={words.environment}>
        <Area
          label={words.fields.variables}
          value={draft.variables}
          rows={4}
          onChange={(event) => set('variables', event.target.value)}
          aria-invalid={faults.length > 0 || refused === 'env'}
        />
        <p className="text-sm">{words.variablesHint}</p>
        {faults.length > 0 && <Note look="bad">{words.faults(faults.join(', '))}</Note>}
        {note('env')}
        <SecretRows draft={draft} change={change} />
        {note('secrets')}
        <Bindings place={place} draft={draft} change={change} />
        {note('bindings')}
      </Section>
    </>
  );
}

function Section({ title, children }: { title: string; children: React.ReactNode }) {
  const id = useId();
  return (
    <section aria-labelledby={id} className="flex flex-col gap-4">
      <h2 id={id} className="text-lg font-semibold">
        {title}
      </h2>
      {children}
    </section>
  );
}

function Group({ children }: { children: React.ReactNode }) {
  return <div className="grid grid-cols-1 items-end gap-4 sm:grid-cols-2">{children}</div>;
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

function SecretRows({ draft, change }: Pick<FormProps, 'draft' | 'change'>) {
  const { secrets } = draft;
  const setName = (id: number, name: string) =>
    change({ ...draft, secrets: secrets.map((row) => (row.id === id ? { id, name } : row)) });
  const next = Math.max(0, ...secrets.map(({ id }) => id)) + 1;
  return (
    <fieldset className="flex flex-col gap-3">
      <legend className="mb-1 text-sm font-medium">{words.secrets}</legend>
      <p className="text-sm">{words.secretsHint}</p>
      {secrets.map(({ id, name }, index) => (
        <div key={id} className="grid grid-cols-1 items-end gap-3 sm:grid-cols-[1fr_1fr_auto]">
          <Field
            label={words.secretName(index + 1)}
            value={name}
            required
            onChange={(event) => setName(id, event.target.value)}
            autoComplete="off"
            spellCheck={false}
          />
          <Field
            label={words.secretValue(index + 1)}
            name={secretField(id)}
            type="password"
            required
            autoComplete="off"
          />
          <Button
            aria-label={words.removeSecret(index + 1)}
            onClick={() => change({ ...draft, secrets: secrets.filter((row) => row.id !== id) })}
          >
            {words.remove}
          </Button>
        </div>
      ))}
      <div>
        <Button onClick={() => change({ ...draft, secrets: [...secrets, { id: next, name: '' }] })}>
          {words.addSecret}
        </Button>
      </div>
    </fieldset>
  );
}

/** The name of the field with the value of a secret. */
export const secretField = (id: number) => `secret-${id}`;

function Bindings({ place, draft, change }: Pick<FormProps, 'place' | 'draft' | 'change'>) {
  const { bindings } = draft;
  return (
    <fieldset className="flex flex-col gap-2 text-sm">
      <legend className="mb-1 font-medium">{words.bindings}</legend>
      <p>{words.bindingsHint}</p>
      <Loaded query={useQuery(listQuery('services', place))}>
        {({ items, nextCursor }) => (
          <>
            {items.length === 0 && <p>{words.noServices}</p>}
            {items.map(({ name, type }) => (
              <label key={name} className="flex items-center gap-2">
                <input
                  type="checkbox"
                  checked={bindings.includes(name)}
                  onChange={(event) =>
                    change({
                      ...draft,
                      bindings: event.target.checked ? [...bindings, name] : bindings.filter((each) => each !== name),
                    })
                  }
                />
                {name} ({type})
              </label>
            ))}
            {nextCursor !== undefined && <p>{text.errors.partial}</p>}
          </>
        )}
      </Loaded>
    </fieldset>
  );
}
