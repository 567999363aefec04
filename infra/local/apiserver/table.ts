import { duration } from './duration.ts';
import type { Json } from './json.ts';
import type { ApiObject, Column, Resource } from './resource.ts';
import { textOf } from './store.ts';

/** How a client wants objects: as they are, or as rows to print with as much of each object. */
export type Rendering = 'objects' | { include: 'Metadata' | 'Object' | 'None' };

/** What `Accept` and `includeObject` ask for. https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables */
export function renderingOf(accept: string | undefined, query: URLSearchParams): Rendering {
  const [first = ''] = (accept ?? '').split(',');
  if (!/;\s*as=Table/.test(first) || !/g=meta\.k8s\.io/.test(first)) return 'objects';
  const include = query.get('includeObject');
  return { include: include === 'Object' || include === 'None' ? include : 'Metadata' };
}

/** One object as JSON. */
export function rendered(object: ApiObject, resource: Resource, rendering: Rendering): string {
  const { resourceVersion } = object.metadata;
  return rendering === 'objects' ? textOf(object) : tableOf([object], resource, rendering.include, { resourceVersion });
}

/** Objects as rows, in JSON. */
export function tableOf(
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
      ...{ name, type, format, description, priority },
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
