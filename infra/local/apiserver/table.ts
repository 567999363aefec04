import { duration } from './duration.ts';
import type { Json } from './json.ts';
import type { ApiObject, Column, Resource } from './resource.ts';

/** How a client wants objects: as they are, or as rows to print. */
export type Rendering = { table: false } | { table: true; include: 'Metadata' | 'Object' | 'None' };

/** What `Accept` and `includeObject` ask for. https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables */
export function renderingOf(accept: string | undefined, query: URLSearchParams): Rendering {
  const first = (accept ?? '').split(',')[0] ?? '';
  if (!/;\s*as=Table/.test(first) || !/g=meta\.k8s\.io/.test(first)) return { table: false };
  const include = query.get('includeObject');
  return { table: true, include: include === 'Object' || include === 'None' ? include : 'Metadata' };
}

function definition({ name, type, format = '', description = '', priority = 0 }: Column): Json {
  return { name, type, format, description, priority };
}

function rowOf(
  object: ApiObject,
  columns: readonly Column[],
  include: 'Metadata' | 'Object' | 'None',
  now: Date,
): Json {
  const cells = columns.map((column) => cell(column, column.value(object), now));
  if (include === 'None') return { cells };
  const partial = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata };
  return { cells, object: include === 'Object' ? object : partial };
}

function cell({ type, age }: Column, value: unknown, now: Date): unknown {
  if (age) return typeof value === 'string' ? since(value, now) : '<unknown>';
  if (value === undefined || value === null) return type === 'string' ? '' : null;
  return typeof value === 'object' ? JSON.stringify(value) : value;
}

function since(value: string, now: Date): string {
  const time = Date.parse(value);
  return Number.isNaN(time) ? value : duration((now.getTime() - time) / 1000);
}

/** Objects as rows. */
export function tableOf(
  objects: readonly ApiObject[],
  { columns }: Resource,
  options: { include: 'Metadata' | 'Object' | 'None'; metadata: Json; now?: Date },
): Json {
  const { include, metadata, now = new Date() } = options;
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: columns.map(definition),
    rows: objects.map((object) => rowOf(object, columns, include, now)),
  };
}
