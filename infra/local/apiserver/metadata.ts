import { randomBytes, randomUUID } from 'node:crypto';
import type { Cause } from './api-error.ts';
import { timestamp, type ApiObject, type Resource } from './resource.ts';

const labelSegment = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomain = `${labelSegment}(\\.${labelSegment})*`;
const labelValue = '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?';
const qualifiedName = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
/** Without vowels and what looks like them, as Kubernetes makes names. */
const suffixLetters = 'bcdfghjklmnpqrstvwxz2456789';
const suffixLength = 5;
/** Those that need no domain. A definition's name may stand there alone, too. */
const standardFinalizers = new Set([
  ...['kubernetes', 'orphan', 'foregroundDeletion'],
  'customresourcecleanup.apiextensions.k8s.io',
]);

/** A name that begins as asked. */
export function generatedName(prefix: string): string {
  const letters = [...randomBytes(suffixLength)].map((byte) => suffixLetters[byte % suffixLetters.length]);
  return `${prefix.slice(0, 63 - suffixLength)}${letters.join('')}`;
}

/** Gives a new object its identity. Changes its argument. */
export function identify({ metadata }: ApiObject, resource: Resource, now: Date): void {
  metadata.uid = randomUUID();
  metadata.creationTimestamp = timestamp(now);
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  delete metadata.resourceVersion;
  delete metadata.generation;
  if (resource.generation) metadata.generation = 1;
}

/** What a write may not change stays as it was. Changes its first argument. */
export function keepIdentity(next: ApiObject, live: ApiObject): void {
  const { uid, resourceVersion, generation, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds } =
    live.metadata;
  const kept = {
    uid,
    resourceVersion,
    generation,
    creationTimestamp,
    deletionTimestamp,
    deletionGracePeriodSeconds,
  };
  for (const [name, value] of Object.entries(kept)) {
    if (value === undefined) delete next.metadata[name];
    else next.metadata[name] = value;
  }
}

const invalidValue = (field: string, value: string, why: string): Cause => ({
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${JSON.stringify(value)}: ${why}`,
  field,
});

function checkName(name: string, { names }: Resource): Cause[] {
  const field = 'metadata.name';
  if (!name) {
    return [{ reason: 'FieldValueRequired', message: 'Required value: name or generateName is required', field }];
  }
  if (names === 'segment') {
    return /[/%]/.test(name) || name === '.' || name === '..' ? [invalidValue(field, name, "may not contain '/'")] : [];
  }
  const causes: Cause[] = [];
  const max = names === 'label' ? 63 : 253;
  if (name.length > max) causes.push(invalidValue(field, name, `must be no more than ${max} bytes`));
  if (names === 'label' && !new RegExp(`^${labelSegment}$`).test(name)) {
    const why = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${labelSegment}')`;
    causes.push(invalidValue(field, name, why));
  }
  if (names === 'subdomain' && !new RegExp(`^${subdomain}$`).test(name)) {
    const why = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${subdomain}')`;
    causes.push(invalidValue(field, name, why));
  }
  return causes;
}

/** What is wrong with an object's metadata. */
export function checkMetadata({ metadata }: ApiObject, resource: Resource, old: ApiObject | undefined): Cause[] {
  const causes = old ? [] : checkName(metadata.name, resource);
  for (const [key, value] of Object.entries(metadata.labels ?? {})) {
    const field = 'metadata.labels';
    if (!qualifiedName.test(key)) {
      const why = `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`;
      causes.push(invalidValue(field, key, why));
    }
    if (value.length > 63) causes.push(invalidValue(field, value, 'must be no more than 63 bytes'));
    if (!new RegExp(`^${labelValue}$`).test(value)) {
      const why = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '${labelValue}')`;
      causes.push(invalidValue(field, value, why));
    }
  }
  for (const [index, owner] of (metadata.ownerReferences ?? []).entries()) {
    for (const name of ['apiVersion', 'kind', 'name', 'uid'] as const) {
      if (owner[name]) continue;
      const field = `metadata.ownerReferences[${index}].${name}`;
      causes.push(invalidValue(field, '', `${name === 'apiVersion' ? 'version' : name} must not be empty`));
    }
  }
  for (const [index, name] of (metadata.finalizers ?? []).entries()) {
    if (standardFinalizers.has(name) || /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/\S+$/.test(name)) continue;
    const why = 'name is neither a standard finalizer name nor is it fully qualified';
    causes.push(invalidValue(`metadata.finalizers[${index}]`, name, why));
  }
  if (old?.metadata.deletionTimestamp) {
    const added = (metadata.finalizers ?? []).filter((name) => !old.metadata.finalizers?.includes(name));
    if (added.length > 0) {
      const list = added.map((name) => JSON.stringify(name)).join(', ');
      const message = `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`;
      causes.push({ reason: 'FieldValueForbidden', message, field: 'metadata.finalizers' });
    }
  }
  return causes;
}
