import type { KubeObject, ObjectMeta } from '../../../runtime/contracts/kubernetes.ts';
import type { Cause } from './causes.ts';
import type { Json } from './json.ts';
import type { Schema } from './structural.ts';

/** An object in the store. It is never changed in place: a write replaces it. */
export type ApiObject = KubeObject & Json & { metadata: ObjectMeta & Json };

/** A column of `kubectl get`: its name and its value for an object. */
export interface Column {
  name: string;
  type: 'string' | 'integer' | 'boolean' | 'date' | 'number';
  /** `name` for the first column. */
  format?: string;
  description?: string;
  /** Whether the value is a time, shown as the time since then. */
  age?: boolean;
  /** Greater than 0: shown only with `-o wide`. */
  priority?: number;
  value: (object: ApiObject) => unknown;
}

/** A kind that the server serves. */
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
  /** Whether `metadata.generation` counts changes of the desired state. */
  generation: boolean;
  status: boolean;
  scale: boolean;
  /** Whether an update may omit `resourceVersion`. */
  unconditionalUpdate: boolean;
  /** The form of names: labels (no dots), path segments (RBAC) or subdomains. */
  names: 'label' | 'segment' | 'subdomain';
  schema: Schema;
  columns: readonly Column[];
  /** A kind from a CustomResourceDefinition, which has only the rules of its schema. */
  custom: boolean;

  /** Sets defaults that the schema does not have. Changes its argument. */
  default?: (object: ApiObject) => void;
  /** Sets the fields of a new object that the server writes. Changes its argument. */
  prepareCreate?: (object: ApiObject, now: Date) => void;
  /** Restores fields that an update may omit, such as an address. Changes its first argument. */
  prepareUpdate?: (object: ApiObject, live: ApiObject) => void;
  /** Paths that cannot change, such as `spec.selector`. */
  immutable?: readonly string[];
  /** Checks the object. */
  validate?: (object: ApiObject, old: ApiObject | undefined) => Cause[];
  /** Paths that field selectors support besides name and namespace. */
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
