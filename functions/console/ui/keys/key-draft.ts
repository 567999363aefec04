import type { KeyView } from '../../../../runtime/contracts/api/keys.ts';

/** The fields of the form of a key, in its order. */
export const keyFields = ['name', 'plan', 'apps', 'networks', 'expires'] as const;

/** What the form of a key has, as texts; the API checks them. */
export type KeyDraft = Readonly<Record<(typeof keyFields)[number], string>>;

const listOf = (text: string) =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');

/** The end of a day in UTC, as `svc` reads a date. */
const endOf = (day: string) => `${day}T23:59:59.999Z`;

/** What the form of a key shows first. */
export function keyDraftOf({ name = '', plan, apps = [], allowedCidrs = [], expiresAt = '' }: KeyView): KeyDraft {
  return { name, plan, apps: apps.join(', '), networks: allowedCidrs.join(', '), expires: expiresAt.slice(0, 10) };
}

/** The body of the request that creates the key; empty texts are left out. */
export function createBody({ name, plan, expires, ...lists }: KeyDraft): Record<string, unknown> {
  const [apps, networks] = [listOf(lists.apps), listOf(lists.networks)];
  return {
    plan,
    ...(name !== '' && { name }),
    ...(apps.length > 0 && { apps }),
    ...(networks.length > 0 && { allowedCidrs: networks }),
    ...(expires !== '' && { expiresAt: endOf(expires) }),
  };
}

/** The words of the command that creates the same key. */
export function createWords({ name, plan, expires, ...lists }: KeyDraft): string[] {
  return [
    ...['key', 'create', '--plan', plan || 'small'],
    ...(name === '' ? [] : ['--name', name]),
    ...listOf(lists.apps).flatMap((app) => ['--app', app]),
    ...listOf(lists.networks).flatMap((network) => ['--allow', network]),
    ...(expires === '' ? [] : ['--expires', expires]),
  ];
}

/** The fields that differ, in the order of the form. A key whose apps were all deleted has an empty list, which is not the same as all apps. */
export function changedFields(before: KeyDraft, after: KeyDraft): (keyof KeyDraft)[] {
  const same = (field: keyof KeyDraft) =>
    field === 'apps' || field === 'networks'
      ? listOf(before[field]).join() === listOf(after[field]).join()
      : before[field] === after[field];
  return keyFields.filter((field) => !same(field));
}

/** A setting as the API has it; null for one that is not set. */
function seenValue(field: keyof KeyDraft, { name, plan, apps, allowedCidrs, expiresAt }: KeyView): [string, unknown] {
  if (field === 'apps') return ['apps', apps ?? null];
  if (field === 'networks') return ['allowedCidrs', allowedCidrs ?? null];
  if (field === 'expires') return ['expiresAt', expiresAt ?? null];
  return [field, field === 'name' ? (name ?? null) : plan];
}

/**
 * The body of the request that sets what differs from what the form showed first: what others change stays. It names what it
 * replaces.
 * @param seen the key as the user has seen it last
 */
export function changeBody(before: KeyDraft, after: KeyDraft, seen: KeyView): Record<string, unknown> {
  const fields = changedFields(before, after);
  const entry = (field: keyof KeyDraft): [string, unknown] => {
    const text = after[field];
    const list = listOf(text);
    if (field === 'apps') return ['apps', list.length === 0 ? null : list];
    if (field === 'networks') return ['allowedCidrs', list.length === 0 ? null : list];
    if (field === 'expires') return ['expiresAt', text === '' ? null : endOf(text)];
    return [field, field === 'name' && text === '' ? null : text];
  };
  if (fields.length === 0) return {};
  const replaces = Object.fromEntries(fields.map((field) => seenValue(field, seen)));
  return { ...Object.fromEntries(fields.map(entry)), replaces };
}

/** The words of the command that makes the same change; without one, of the command that shows the key. */
export function changeWords(handle: string, before: KeyDraft, after: KeyDraft): string[] {
  const flags = changedFields(before, after).flatMap((field) => {
    const list = listOf(after[field]);
    if (field === 'apps') return list.length === 0 ? ['--all-apps'] : list.flatMap((app) => ['--app', app]);
    if (field === 'networks') return list.length === 0 ? ['--allow-all'] : list.flatMap((each) => ['--allow', each]);
    if (field === 'expires') return ['--expires', after.expires || 'never'];
    return [`--${field}`, after[field]];
  });
  return flags.length === 0 ? ['key', 'show', handle] : ['key', 'update', handle, ...flags];
}
