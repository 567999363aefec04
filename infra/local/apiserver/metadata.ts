import { randomUUID } from 'node:crypto';
import type { Cause } from './causes.ts';
import { forbiddenValue, invalidValue, requiredValue } from './causes.ts';
import { timestamp, type ApiObject, type Resource } from './resource.ts';

const names: Readonly<Record<Resource['names'], { pattern: RegExp; max: number; reason: string }>> = {
  label: {
    pattern: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
    max: 63,
    reason:
      "must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  },
  subdomain: {
    pattern: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
    max: 253,
    reason:
      "must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  },
  segment: { pattern: /^(?!\.\.?$)[^/%]+$/, max: 253, reason: "may not contain '/' or '%'" },
};
const labelName = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const labelValue = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const labelMax = 63;
/** Finalizers have a domain, except these. */
const finalizer =
  /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/\S+|orphan|foregroundDeletion|customresourcecleanup\.apiextensions\.k8s\.io)$/;

/** The metadata that only the server writes. */
const serverFields = [
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
];

/** Sets a new object's uid, creation time and generation. Changes its argument. */
export function assignIdentity({ metadata }: ApiObject, resource: Resource, now: Date): void {
  for (const name of serverFields) delete metadata[name];
  Object.assign(metadata, { uid: randomUUID(), creationTimestamp: timestamp(now) });
  if (resource.generation) metadata.generation = 1;
}

/** Restores the fields that a write must not change. Changes its first argument. */
export function preserveServerFields({ metadata }: ApiObject, live: ApiObject): void {
  for (const name of serverFields) {
    if (live.metadata[name] === undefined) delete metadata[name];
    else metadata[name] = live.metadata[name];
  }
}

/** Checks an object's metadata. */
export function checkMetadata({ metadata }: ApiObject, resource: Resource, old: ApiObject | undefined): Cause[] {
  const { labels = {}, ownerReferences = [], finalizers = [] } = metadata;
  const causes = old ? [] : checkName(metadata.name, resource);
  for (const [key, value] of Object.entries(labels)) {
    const invalid = [...(labelName.test(key) ? [] : [key]), ...(labelValue.test(value) ? [] : [value])];
    const reason = "a valid label must consist of alphanumeric characters, '-', '_' or '.'";
    causes.push(...invalid.map((text) => invalidValue('metadata.labels', text, reason)));
    if (value.length <= labelMax) continue;
    causes.push(invalidValue('metadata.labels', value, `must be no more than ${labelMax} bytes`));
  }
  for (const [index, owner] of ownerReferences.entries()) {
    const missing = (['apiVersion', 'kind', 'name', 'uid'] as const).filter((name) => !owner[name]);
    const field = `metadata.ownerReferences[${index}]`;
    causes.push(...missing.map((name) => invalidValue(`${field}.${name}`, '', `${name} must not be empty`)));
  }
  for (const [index, name] of finalizers.entries()) {
    if (finalizer.test(name)) continue;
    const reason = 'name is neither a standard finalizer name nor is it fully qualified';
    causes.push(invalidValue(`metadata.finalizers[${index}]`, name, reason));
  }
  if (!old?.metadata.deletionTimestamp) return causes;
  const added = finalizers.filter((name) => !old.metadata.finalizers?.includes(name));
  if (added.length === 0) return causes;
  const list = added.map((name) => JSON.stringify(name)).join(', ');
  const reason = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`;
  return [...causes, forbiddenValue('metadata.finalizers', reason)];
}

function checkName(name: string, resource: Resource): Cause[] {
  if (!name) return [requiredValue('metadata.name', 'name or generateName is required')];
  const { pattern, max, reason } = names[resource.names];
  return [
    ...(name.length > max ? [invalidValue('metadata.name', name, `must be no more than ${max} bytes`)] : []),
    ...(pattern.test(name) ? [] : [invalidValue('metadata.name', name, reason)]),
  ];
}
