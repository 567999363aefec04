import type { FunctionView } from '../../../../runtime/contracts/api/functions.ts';
import { readLines } from '../workloads/env-text.ts';
import { filledLines } from '../parts/lines.ts';
import { mountLines, mountsOf } from '../workloads/mounts.ts';

/** The fields of the form of a function, as texts; the API checks them. */
const draftFields = [
  'name',
  'runtime',
  'image',
  'code',
  'dependencies',
  'trigger',
  'schedule',
  'timeZone',
  'overlap',
  'source',
  'query',
  'markDone',
  'list',
  'bucket',
  'bindings',
  'variables',
  'volumes',
  'idleTimeoutSeconds',
  'concurrency',
  'minReplicas',
  'maxReplicas',
  'memory',
  'cpu',
  'port',
] as const;

export type DraftField = (typeof draftFields)[number];

/** An empty runtime stands for an image. */
export type Draft = Readonly<Record<DraftField, string>>;

/** A new function: an empty text is the default of the API. */
export const newDraft: Draft = {
  ...(Object.fromEntries(draftFields.map((field) => [field, ''])) as Record<DraftField, string>),
  runtime: 'node',
  trigger: 'http',
  schedule: '0 2 * * *',
};

/** The settings of a function that exists. The API does not return its code: an empty text leaves the code as it is. */
export function draftOf(view: FunctionView): Draft {
  const { events } = view;
  return {
    ...newDraft,
    name: view.name,
    runtime: view.runtime ?? '',
    image: view.image ?? '',
    dependencies: (view.dependencies ?? []).join('\n'),
    trigger: view.trigger,
    schedule: view.schedule ?? '',
    timeZone: view.timeZone ?? '',
    overlap: view.overlap ?? '',
    source: events?.source ?? '',
    query: events?.query ?? '',
    markDone: events?.markDone ?? '',
    list: events?.list ?? '',
    bucket: events?.bucket ?? '',
    idleTimeoutSeconds: String(view.idleTimeoutSeconds),
    concurrency: String(view.concurrency),
    minReplicas: String(view.minReplicas),
    maxReplicas: String(view.maxReplicas),
    volumes: mountLines(view.volumes),
    memory: view.memory ?? '',
    cpu: view.cpu ?? '',
    port: view.port === undefined ? '' : String(view.port),
  };
}

const codeFields: readonly DraftField[] = ['code', 'dependencies'];
const common: readonly DraftField[] = [...codeFields, 'image', 'volumes', 'memory', 'cpu'];
const podFields: readonly DraftField[] = ['idleTimeoutSeconds', 'minReplicas', 'maxReplicas', 'port'];
const sqlFields: readonly DraftField[] = ['source', 'query', 'markDone', ...podFields];
const fieldsOf: Readonly<Record<string, readonly DraftField[]>> = {
  http: ['concurrency', ...podFields],
  cron: ['schedule', 'timeZone', 'overlap'],
  postgres: sqlFields,
  mysql: sqlFields,
  redis: ['source', 'list', ...podFields],
  minio: ['source', 'bucket', ...podFields],
};

/** Whether functions with this trigger and runtime have the field. */
export function hasField({ trigger, runtime }: Pick<Draft, 'trigger' | 'runtime'>, field: DraftField): boolean {
  if (runtime === '' ? codeFields.includes(field) : field === 'image') return false;
  return common.includes(field) || (fieldsOf[trigger] ?? []).includes(field);
}

/** The fields that have a text, in the order of the form. */
export function fieldsWithText(draft: Partial<Draft>): DraftField[] {
  return draftFields.filter((field) => (draft[field] ?? '').trim() !== '');
}

const eventFields: readonly DraftField[] = ['source', 'query', 'markDone', 'list', 'bucket'];
const numbers: readonly DraftField[] = ['idleTimeoutSeconds', 'concurrency', 'minReplicas', 'maxReplicas', 'port'];

function wordsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '');
}

function valueOf(field: DraftField, text: string): unknown {
  if (field === 'dependencies') return wordsOf(text);
  if (field === 'volumes') return mountsOf(text);
  return numbers.includes(field) ? Number(text) : text;
}

/** The fields that have a text, and that the trigger and runtime have. */
const filledFields = (draft: Draft) => fieldsWithText(draft).filter((field) => hasField(draft, field));

/** The body of the request that creates the function; empty texts are left out. */
export function createBody(draft: Draft): Record<string, unknown> {
  const filled = filledFields(draft);
  const settings = filled.filter((field) => !eventFields.includes(field));
  const events = filled.filter((field) => eventFields.includes(field));
  const bindings = wordsOf(draft.bindings).map((service) => ({ service }));
  const { variables } = readLines(draft.variables);
  return {
    name: draft.name,
    ...(draft.runtime !== '' && { runtime: draft.runtime }),
    trigger: draft.trigger,
    ...Object.fromEntries(settings.map((field) => [field, valueOf(field, draft[field])])),
    ...(events.length > 0 && { events: Object.fromEntries(events.map((field) => [field, draft[field]])) }),
    ...(bindings.length > 0 && { bindings }),
    ...(Object.keys(variables).length > 0 && { env: variables }),
  };
}

const flags: Readonly<Partial<Record<DraftField, string>>> = {
  image: '--image',
  schedule: '--schedule',
  timeZone: '--time-zone',
  overlap: '--overlap',
  source: '--source',
  query: '--query',
  markDone: '--mark-done',
  list: '--list',
  bucket: '--bucket',
  concurrency: '--concurrency',
  minReplicas: '--min-replicas',
  maxReplicas: '--max-replicas',
  memory: '--memory',
  cpu: '--cpu',
  port: '--port',
};

/** The flags that set a field. A command names files of code and variables, because these are long, or can have secrets. */
function flagsOf(field: DraftField, draft: Draft): string[] {
  const text = draft[field].trim();
  if (field === 'code') return ['--code-file', draft.runtime === 'python' ? 'handler.py' : 'handler.mjs'];
  if (field === 'dependencies') return wordsOf(text).flatMap((word) => ['--dependency', word]);
  if (field === 'volumes') return filledLines(text).flatMap((line) => ['--volume', line]);
  if (field === 'idleTimeoutSeconds') return ['--idle-timeout', `${text}s`];
  return flags[field] === undefined ? [] : [flags[field], text];
}

/** The words of the command that creates the same function. */
export function createWords(draft: Draft): string[] {
  const { name, runtime, image, trigger } = draft;
  const code =
    runtime === '' ? ['--image', image.trim() || 'registry.example.com/shop/resize:1'] : flagsOf('code', draft);
  const others = filledFields(draft).filter((field) => field !== 'code' && field !== 'image');
  return [
    ...['function', 'create', name.trim() || 'hello', ...(runtime === '' ? [] : ['--runtime', runtime]), ...code],
    ...['--trigger', trigger, ...others.flatMap((field) => flagsOf(field, draft))],
    ...wordsOf(draft.bindings).flatMap((service) => ['--bind', service]),
    ...(draft.variables.trim() === '' ? [] : ['--env-file', '.env']),
  ];
}

/** The fields that differ, in the order of the form. A field that a function with its trigger does not have is left out. */
export function changedFields(before: Draft, after: Draft): DraftField[] {
  return draftFields.filter((field) => before[field] !== after[field] && hasField(after, field));
}

/** What restores the default of a field that is emptied, where null does. */
const resets: Readonly<Partial<Record<DraftField, string>>> = {
  memory: '--default-memory',
  cpu: '--default-cpu',
  markDone: '--without-mark-done',
};
/** What empties a list. */
const clears: Readonly<Partial<Record<DraftField, string>>> = {
  dependencies: '--no-dependencies',
  volumes: '--no-volumes',
};

/**
 * The body of the request that changes these fields and no others, so that what others change meanwhile stays. A text that
 * was emptied restores the default where the API has one to restore.
 */
export function changeBody(before: Draft, after: Draft): Record<string, unknown> {
  const changed = changedFields(before, after);
  const emptied = (field: DraftField) => after[field] === '' && Object.hasOwn(resets, field);
  const entry = (field: DraftField) => [field, emptied(field) ? null : valueOf(field, after[field])] as const;
  const settings = changed.filter((field) => !eventFields.includes(field));
  const events = changed.filter((field) => eventFields.includes(field));
  return {
    ...Object.fromEntries(settings.map(entry)),
    ...(events.length > 0 && { events: Object.fromEntries(events.map(entry)) }),
  };
}

/** The words of the command that makes the same change; without one, of the command that shows the function. */
export function changeWords(before: Draft, after: Draft): string[] {
  const changed = changedFields(before, after).flatMap((field) => {
    const reset = after[field].trim() === '' ? (resets[field] ?? clears[field]) : undefined;
    return reset === undefined ? flagsOf(field, after) : [reset];
  });
  return ['function', ...(changed.length === 0 ? ['show', before.name] : ['update', before.name, ...changed])];
}
