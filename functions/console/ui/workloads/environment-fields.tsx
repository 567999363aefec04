import { useQuery } from '@tanstack/react-query';
import { useId } from 'react';
import { listQuery, type Place } from '../api/queries.ts';
import { Area } from '../parts/area.tsx';
import { Button } from '../parts/button.tsx';
import { Field } from '../parts/field.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Note } from '../parts/note.tsx';
import { text } from '../text/common.ts';
import { createText } from '../text/create.ts';
import { readLines } from './env-text.ts';
import { secretField, type EnvironmentDraft } from './environment-draft.ts';

const words = createText.environment;

interface DraftProps<Draft extends EnvironmentDraft> {
  draft: Draft;
  change: (draft: Draft) => void;
}

interface FieldsProps<Draft extends EnvironmentDraft> extends DraftProps<Draft> {
  place: Place;
  /** The field that the API refused, and the message at a field. */
  refused: string | undefined;
  note: (field: string) => React.ReactNode;
}

/** The variables, secrets and bindings of a new workload. Fields for secrets keep their values to themselves until the form is sent. */
export function EnvironmentFields<Draft extends EnvironmentDraft>({
  place,
  draft,
  change,
  refused,
  note,
}: FieldsProps<Draft>) {
  const { faults } = readLines(draft.variables);
  return (
    <FormSection title={words.title}>
      <Area
        label={words.variables}
        value={draft.variables}
        rows={4}
        onChange={(event) => change({ ...draft, variables: event.target.value })}
        aria-invalid={faults.length > 0 || refused === 'env'}
      />
      <p className="text-sm">{words.variablesHint}</p>
      {faults.length > 0 && <Note look="bad">{words.faults(faults.join(', '))}</Note>}
      {note('env')}
      <SecretRows draft={draft} change={change} />
      {note('secrets')}
      <Bindings place={place} draft={draft} change={change} />
      {note('bindings')}
    </FormSection>
  );
}

/** A part of a form, with its heading. */
export function FormSection({ title, children }: { title: string; children: React.ReactNode }) {
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

/** Fields beside each other, where the page is wide enough. */
export function FormGroup({ children }: { children: React.ReactNode }) {
  return <div className="grid grid-cols-1 items-end gap-4 sm:grid-cols-2">{children}</div>;
}

function SecretRows<Draft extends EnvironmentDraft>({ draft, change }: DraftProps<Draft>) {
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

function Bindings<Draft extends EnvironmentDraft>({ place, draft, change }: DraftProps<Draft> & { place: Place }) {
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
