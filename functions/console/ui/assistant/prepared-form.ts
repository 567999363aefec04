import { createBody, newDraft, type Draft } from '../functions/draft.ts';
import type { Offered } from '../functions/offered.ts';
import { linesOf } from '../workloads/env-text.ts';

type Body = Readonly<Record<string, unknown>>;

/** A prepared function, or new code of one. The user sends it with its form, which can also change it. */
export interface FormOperation {
  kind: 'create' | 'code';
  name: string;
  values: Offered;
}

const runtimes: readonly string[] = ['node', 'python'];
const triggers: readonly string[] = ['http', 'cron', 'postgres', 'mysql', 'redis', 'minio'];
const textFields = ['name', 'runtime', 'code', 'trigger', 'schedule', 'timeZone'] as const;
const eventFields = ['source', 'query', 'markDone', 'list', 'bucket'] as const;

/**
 * Reads the request that creates a function. Pure. @returns undefined for one that the form cannot show completely: what
 * the form would send is compared with the request
 */
export function readNewFunction(body: Body): FormOperation | undefined {
  const { dependencies = [], env = {}, events = {} } = body;
  const variables = textsOf(env);
  const packages = listOf(dependencies);
  const source = textsOf(events);
  const texts = textsOf(Object.fromEntries(textFields.flatMap((field) => entryOf(body, field))));
  if (!variables || !packages || !source || !texts) return undefined;
  const { text } = linesOf(variables);
  const values: Partial<Record<keyof Draft, string>> = {
    ...texts,
    ...Object.fromEntries(eventFields.flatMap((field) => entryOf(source, field))),
    ...(packages.length > 0 && { dependencies: packages.join('\n') }),
    ...(text !== '' && { variables: text }),
  };
  const { name = '', runtime = '', trigger = '' } = values;
  if (name === '' || !runtimes.includes(runtime) || !triggers.includes(trigger)) return undefined;
  if (!isSame(createBody({ ...newDraft, ...values }), body)) return undefined;
  return { kind: 'create', name, values };
}

/** Reads the request that changes the code of a function, and its packages. Pure. */
export function readCode(name: string, { code, dependencies, ...others }: Body): FormOperation | undefined {
  const packages = dependencies === undefined ? undefined : listOf(dependencies);
  if (typeof code !== 'string' || code === '' || Object.keys(others).length > 0) return undefined;
  if (dependencies !== undefined && !packages) return undefined;
  return { kind: 'code', name, values: { code, ...(packages && { dependencies: packages.join('\n') }) } };
}

function entryOf(values: Body, field: string): [string, unknown][] {
  return Object.hasOwn(values, field) ? [[field, values[field]]] : [];
}

/** An object of texts; undefined for any other value. */
function textsOf(value: unknown): Record<string, string> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const entries = Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return entries.length === Object.keys(value).length ? Object.fromEntries(entries) : undefined;
}

/** A list of packages, each of which is one word in the form. */
function listOf(value: unknown): string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const words = value.filter((each): each is string => typeof each === 'string' && /^[^\s,]+$/.test(each));
  return words.length === value.length ? words : undefined;
}

/** Whether two values of JSON are equal. */
function isSame(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other;
  const [own, others] = [Object.entries(one), new Map(Object.entries(other))];
  return (
    Array.isArray(one) === Array.isArray(other) &&
    own.length === others.size &&
    own.every(([name, value]) => others.has(name) && isSame(value, others.get(name)))
  );
}
