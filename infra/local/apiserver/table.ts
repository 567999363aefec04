import type { Json } from './json.ts';
import type { ApiObject, Column, Resource } from './resource.ts';
import { textOf } from './store.ts';

/** How to render objects: as they are, or as table rows with the given part of each object. */
export type Rendering = 'objects' | { include: 'Metadata' | 'Object' | 'None' };

/**
 * The rendering that `Accept` and `includeObject` request.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables
 */
export function renderingOf(accept: string | undefined, query: URLSearchParams): Rendering {
  const [first = ''] = (accept ?? '').split(',');
  if (!/;\s*as=Table/.test(first) || !/g=meta\.k8s\.io/.test(first)) return 'objects';
  const include = query.get('includeObject');
  return { include: include === 'Object' || include === 'None' ? include : 'Metadata' };
}

/** One object as JSON, in the given rendering. */
export function renderObject(object: ApiObject, resource: Resource, rendering: Rendering): string {
  const { resourceVersion } = object.metadata;
  return rendering === 'objects'
    ? textOf(object)
    : renderTable([object], resource, rendering.include, { resourceVersion });
}

/** Objects as a table, in JSON. */
export function renderTable(
  objects: readonly ApiObject[],
  { columns }: Resource,
  include: 'Metadata' | 'Object' | 'None',
  metadata: Json,
): string {
  const rowOf = (object: ApiObject) => {
    const cells = columns.map((column) => cell(column, column.value(object)));
    if (include === 'None') return { cells };
    const partial = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata };
    return { cells, object: include === 'Object' ? object : partial };
  };
  return JSON.stringify({
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: columns.map(({ name, type, format = '', description = '', priority = 0 }) => ({
      name,
      type,
      format,
      description,
      priority,
    })),
    rows: objects.map(rowOf),
  });
}

function cell({ type, age }: Column, value: unknown): unknown {
  if (age) {
    const time = typeof value === 'string' ? Date.parse(value) : Number.NaN;
    return Number.isNaN(time) ? (value ?? '<unknown>') : duration((Date.now() - time) / 1000);
  }
  if (value === undefined || value === null) return type === 'string' ? '' : null;
  return typeof value === 'object' ? JSON.stringify(value) : value;
}

/** A duration in its one or two largest units, as Kubernetes prints it: `45s`, `3m12s`, `5h`, `9d`. */
export function duration(length: number): string {
  const seconds = Math.floor(length);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  const twoUnits = (big: number, bigUnit: string, small: number, smallUnit: string) =>
    small > 0 ? `${big}${bigUnit}${small}${smallUnit}` : `${big}${bigUnit}`;
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return twoUnits(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return twoUnits(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (hours < 192) return twoUnits(days, 'd', hours % 24, 'h');
  if (days < 730) return `${days}d`;
  const years = Math.floor(days / 365);
  return years < 8 ? twoUnits(years, 'y', days % 365, 'd') : `${years}y`;
}
