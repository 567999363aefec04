import type { FunctionView } from '../../../../runtime/contracts/api/functions.ts';

/** The fields of the form of a function, as texts; the API checks them. */
const draftFields = [
  'name',
  'runtime',
  'code',
  'dependencies',
  'trigger',
  'schedule',
  'timeZone',
  'source',
  'query',
  'markDone',
  'list',
  'bucket',
  'bindings',
  'idleTimeoutSeconds',
  'concurrency',
  'minReplicas',
  'maxReplicas',
  'memory',
] as const;

export type DraftField = (typeof draftFields)[number];

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
    dependencies: (view.dependencies ?? []).join('\n'),
    trigger: view.trigger,
    schedule: view.schedule ?? '',
    timeZone: view.timeZone ?? '',
    source: events?.source ?? '',
    query: events?.query ?? '',
    markDone: events?.markDone ?? '',
    list: events?.list ?? '',
    bucket: events?.bucket ?? '',
    idleTimeoutSeconds: String(view.idleTimeoutSeconds),
    concurrency: String(view.concurrency),
    minReplicas: String(view.minReplicas),
    maxReplicas: String(view.maxReplicas),
    memory: view.memory ?? '',
  };
}

const common: readonly DraftField[] = ['code', 'dependencies', 'memory'];
const podFields: readonly DraftField[] = ['idleTimeoutSeconds', 'minReplicas', 'maxReplicas'];
const sqlFields: readonly DraftField[] = ['source', 'query', 'markDone', ...podFields];
const fieldsOf: Readonly<Record<string, readonly DraftField[]>> = {
  http: ['concurrency', ...podFields],
  cron: ['schedule', 'timeZone'],
  postgres: sqlFields,
  mysql: sqlFields,
  redis: ['source', 'list', ...podFields],
  minio: ['source', 'bucket', ...podFields],
};

/** Whether functions with this trigger have the field. */
export function hasField(trigger: string, field: DraftField): boolean {
  return common.includes(field) || (fieldsOf[trigger] ?? []).includes(field);
}

const eventFields: readonly DraftField[] = ['source', 'query', 'markDone', 'list', 'bucket'];
const numbers: readonly DraftField[] = ['idleTimeoutSeconds', 'concurrency', 'minReplicas', 'maxReplicas'];

function wordsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '');
}

function valueOf(field: DraftField, text: string): unknown {
  if (field === 'dependencies') return wordsOf(text);
  return numbers.includes(field) ? Number(text) : text;
}

/** The body of the request that creates the function; empty texts are left out. */
export function createBody(draft: Draft): Record<string, unknown> {
  const filled = draftFields.filter((field) => draft[field] !== '' && hasField(draft.trigger, field));
  const settings = filled.filter((field) => !eventFields.includes(field));
  const events = filled.filter((field) => eventFields.includes(field));
  const bindings = wordsOf(draft.bindings).map((service) => ({ service }));
  return {
    ...{ name: draft.name, runtime: draft.runtime, trigger: draft.trigger },
    ...Object.fromEntries(settings.map((field) => [field, valueOf(field, draft[field])])),
    ...(events.length > 0 && { events: Object.fromEntries(events.map((field) => [field, draft[field]])) }),
    ...(bindings.length > 0 && { bindings }),
  };
}

/** The fields that differ, in the order of the form. A field that a function with its trigger does not have is left out. */
export function changedFields(before: Draft, after: Draft): DraftField[] {
  return draftFields.filter((field) => before[field] !== after[field] && hasField(after.trigger, field));
}

/**
 * The body of the request that changes these fields and no others, so that what others change meanwhile stays. A text that
 * was emptied restores the default where the API has one to restore.
 */
export function changeBody(before: Draft, after: Draft): Record<string, unknown> {
  const changed = changedFields(before, after);
  const emptied = (field: DraftField) => after[field] === '' && (field === 'memory' || field === 'markDone');
  const entry = (field: DraftField) => [field, emptied(field) ? null : valueOf(field, after[field])] as const;
  const settings = changed.filter((field) => !eventFields.includes(field));
  const events = changed.filter((field) => eventFields.includes(field));
  return {
    ...Object.fromEntries(settings.map(entry)),
    ...(events.length > 0 && { events: Object.fromEntries(events.map(entry)) }),
  };
}
