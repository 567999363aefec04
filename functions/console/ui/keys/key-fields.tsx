import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { KeyView } from '../../../../runtime/contracts/api/keys.ts';
import type { Place } from '../api/queries.ts';
import { Select } from '../parts/choice.tsx';
import { Field, valueOf } from '../parts/field.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { keyText } from '../text/keys.ts';
import { keyDraftOf, keyFields, type KeyDraft } from './key-draft.ts';
import { planOptions } from './plan-choice.ts';
import { planNamesQuery } from './queries.ts';

const words = keyText.keys.fields;

/** The settings of a key. @param current absent for a new key */
export function KeyFields({ place, current }: { place: Place; current?: KeyView }) {
  const draft = current && keyDraftOf(current);
  const plans = useQuery(planNamesQuery(place));
  const names = plans.data ?? [];
  const [plan, setPlan] = useState(current?.plan);
  // The first plan is the default, and stays it when others are created.
  if (plan === undefined && names[0] !== undefined) setPlan(names[0]);
  return (
    <>
      <Field label={words.name} name="name" maxLength={100} autoComplete="off" defaultValue={draft?.name} />
      <Select
        label={words.plan}
        name="plan"
        options={planOptions(names, plan)}
        value={plan ?? ''}
        onChange={({ target }) => setPlan(target.value)}
        required
      />
      {plans.error && <ErrorNote error={plans.error} retry={() => void plans.refetch()} />}
      <Field label={words.apps} name="apps" autoComplete="off" spellCheck={false} defaultValue={draft?.apps} />
      <Field
        label={words.networks}
        name="networks"
        placeholder="192.0.2.0/24"
        autoComplete="off"
        defaultValue={draft?.networks}
      />
      <Field label={words.expires} name="expires" type="date" defaultValue={draft?.expires} />
    </>
  );
}

/** What is written in the form of a key. */
export function keyDraftIn(form: HTMLFormElement): KeyDraft {
  return Object.fromEntries(keyFields.map((field) => [field, valueOf(form, field)])) as KeyDraft;
}
