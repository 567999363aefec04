import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { KeyView } from '../../../../runtime/contracts/api/keys.ts';
import type { Place } from '../api/queries.ts';
import { Select } from '../parts/choice.tsx';
import { Field, valueOf } from '../parts/field.tsx';
import { keyText } from '../text/keys.ts';
import { planOptions } from './plan-choice.ts';
import { planNamesQuery } from './queries.ts';

const words = keyText.keys.fields;

/** The settings of a key. @param current absent for a new key */
export function KeyFields({ place, current }: { place: Place; current?: KeyView }) {
  const { data: names = [] } = useQuery(planNamesQuery(place));
  const [plan, setPlan] = useState(current?.plan);
  // The first plan is the default, and stays it when others are created.
  if (plan === undefined && names[0] !== undefined) setPlan(names[0]);
  return (
    <>
      <Field label={words.name} name="name" maxLength={100} autoComplete="off" defaultValue={current?.name} />
      <Select
        label={words.plan}
        name="plan"
        options={planOptions(names, plan)}
        value={plan ?? ''}
        onChange={({ target }) => setPlan(target.value)}
        required
      />
      <Field
        label={words.apps}
        name="apps"
        autoComplete="off"
        spellCheck={false}
        defaultValue={current?.apps?.join(', ')}
      />
      <Field
        label={words.networks}
        name="networks"
        placeholder="192.0.2.0/24"
        autoComplete="off"
        defaultValue={current?.allowedCidrs?.join(', ')}
      />
      <Field label={words.expires} name="expires" type="date" defaultValue={current?.expiresAt?.slice(0, 10)} />
    </>
  );
}

const listOf = (form: HTMLFormElement, name: string) =>
  valueOf(form, name)
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');

/** The end of a day in UTC, as `svc` reads a date. */
const endOf = (day: string) => `${day}T23:59:59.999Z`;

/** The body of a request that creates a key. */
export function newKeyOf(form: HTMLFormElement): Record<string, unknown> {
  const [name, expires] = [valueOf(form, 'name'), valueOf(form, 'expires')];
  const [apps, networks] = [listOf(form, 'apps'), listOf(form, 'networks')];
  return {
    plan: valueOf(form, 'plan'),
    ...(name !== '' && { name }),
    ...(apps.length > 0 && { apps }),
    ...(networks.length > 0 && { allowedCidrs: networks }),
    ...(expires !== '' && { expiresAt: endOf(expires) }),
  };
}

/** The body of a request that sets what differs from the key as the form showed it first: what others change stays. */
export function keyChangeOf(form: HTMLFormElement, before: KeyView): Record<string, unknown> {
  const [name, plan, expires] = [valueOf(form, 'name'), valueOf(form, 'plan'), valueOf(form, 'expires')];
  const [apps, networks] = [listOf(form, 'apps'), listOf(form, 'networks')];
  const differs = (next: readonly string[], former: readonly string[] = []) => next.join() !== former.join();
  return {
    ...(name !== (before.name ?? '') && { name: name === '' ? null : name }),
    ...(plan !== before.plan && { plan }),
    // A key whose apps were all deleted has an empty list, which is not the same as all apps.
    ...(differs(apps, before.apps) && { apps: apps.length === 0 ? null : apps }),
    ...(differs(networks, before.allowedCidrs) && { allowedCidrs: networks.length === 0 ? null : networks }),
    ...(expires !== (before.expiresAt?.slice(0, 10) ?? '') && { expiresAt: expires === '' ? null : endOf(expires) }),
  };
}
