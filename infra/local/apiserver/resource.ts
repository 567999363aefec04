import type { KubeObject, ObjectMeta } from '../../../runtime/contracts/kubernetes.ts';
import type { Cause } from './api-error.ts';
import type { Json } from './json.ts';
import type { Schema } from './structural.ts';

/** An object in the store. Never changed in place: a write puts another one there. */
export type ApiObject = KubeObject & Json & { metadata: ObjectMeta & Json };

/** A column of `kubectl get`: how it is called, and what it shows of an object. */
export interface Column {
  name: string;
  type: 'string' | 'integer' | 'boolean' | 'date' | 'number';
  /** `name` for the first one. */
  format?: string;
  description?: string;
  /** Whether the value is a time, of which the time since then is shown. */
  age?: boolean;
  /** Above 0: only with `-o wide`. */
  priority?: number;
  value: (object: ApiObject) => unknown;
}

/** One kind as the server serves it. */
export interface Resource {
  /** Empty for the core group. */
  group: string;
  version: string;
  kind: string;
  plural: string;
  singular: string;
  shortNames: readonly string[];
  categories: readonly string[];
  namespaced: boolean;
  /** Whether `metadata.generation` counts the changes of what is wanted. */
  generation: boolean;
  status: boolean;
  scale: boolean;
  /** Whether a replace may leave out the version that it read. */
  unconditionalUpdate: boolean;
  /** Names are labels (no dots), paths segments (RBAC), or subdomains. */
  names: 'label' | 'segment' | 'subdomain';
  schema: Schema;
  columns: readonly Column[];
  /** A definition's kind, which only knows what its schema says. */
  custom: boolean;

  /** Fills in what was left out and what no schema's default says. Changes its argument. */
  default?: (object: ApiObject) => void;
  /** What the server itself puts into a new object. Changes its argument. */
  prepareCreate?: (object: ApiObject, now: Date) => void;
  /** What a replace may leave out and keeps, such as an address. Changes its first argument. */
  prepareUpdate?: (object: ApiObject, live: ApiObject) => void;
  /** Paths such as `spec.selector` that never change. */
  immutable?: readonly string[];
  /** What is wrong with the object. */
  validate?: (object: ApiObject, old: ApiObject | undefined) => Cause[];
  /** Paths that a field selector may name besides name and namespace. */
  fields?: readonly string[];
}

/** `apps/v1`, or `v1` for the core group. */
export function apiVersionOf({ group, version }: Pick<Resource, 'group' | 'version'>): string {
  return group ? `${group}/${version}` : version;
}

/** The key of a resource's objects in the store. */
export function storageOf({ group, plural }: Pick<Resource, 'group' | 'plural'>): string {
  return `${group}/${plural}`;
}

/** metav1.Time: whole seconds. */
export function timestamp(date: Date): string {
  return date.toISOString().replace(/\.\d{3}Z$/, 'Z');
}
