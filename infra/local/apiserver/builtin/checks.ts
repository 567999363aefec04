import { isDeepStrictEqual } from 'node:util';
import type { Cause } from '../api-error.ts';
import { forbiddenValue, invalidValue, requiredValue, unsupportedValue } from '../causes.ts';
import { isJson, objects, valueAt, type Json } from '../json.ts';
import type { ApiObject } from '../resource.ts';
import { containersOf } from './defaults.ts';

/** What is wrong with the pods that an object asks for, as far as the node would stumble over it. */
function checkPodSpec(object: ApiObject, path: string, restartPolicies: readonly string[]): Cause[] {
  const spec = valueAt(object, path) as Json;
  const causes = ['initContainers', 'containers'].flatMap((list) =>
    objects(spec[list]).flatMap((container, index) =>
      ['name', 'image']
        .filter((field) => !container[field])
        .map((field) => requiredValue(`${path}.${list}[${index}].${field}`)),
    ),
  );
  if (objects(spec['containers']).length === 0) causes.push(requiredValue(`${path}.containers`));
  const policy = String(spec['restartPolicy']);
  if (restartPolicies.includes(policy)) return causes;
  const field = `${path}.restartPolicy`;
  if (restartPolicies.length === 1) return [...causes, unsupportedValue(field, policy, restartPolicies)];
  // A Job must say which one it means.
  const names = restartPolicies.map((name) => JSON.stringify(name)).join(', ');
  return [...causes, requiredValue(field, `valid values: ${names}`)];
}

/** A selector that does not select the pods of its own template would make pods for ever. */
export function checkWorkload(object: ApiObject): Cause[] {
  const causes = checkPodSpec(object, 'spec.template.spec', ['Always']);
  const labels = valueAt(object, 'spec.template.metadata.labels') ?? null;
  const wanted = Object.entries(valueAt(object, 'spec.selector.matchLabels') ?? {});
  if (wanted.length === 0) causes.push(requiredValue('spec.selector'));
  else if (isJson(labels) && wanted.every(([key, value]) => labels[key] === value)) return causes;
  const why = '`selector` does not match template `labels`';
  return [...causes, invalidValue('spec.template.metadata.labels', labels, why)];
}

export function checkJob(object: ApiObject): Cause[] {
  return checkPodSpec(object, 'spec.template.spec', ['OnFailure', 'Never']);
}

export function checkCronJob(object: ApiObject): Cause[] {
  const causes = checkPodSpec(object, 'spec.jobTemplate.spec.template.spec', ['OnFailure', 'Never']);
  return valueAt(object, 'spec.schedule') ? causes : [requiredValue('spec.schedule'), ...causes];
}

/** What the node writes when it binds a pod, and with it ports of its own (docs/decisions/0009-pods-as-processes.md). */
const isBound = ({ metadata }: ApiObject) => metadata.annotations?.['platform.svc/container-ports'];

/** In a pod that exists only images, tolerations and the deadline may change. */
export function checkPod(object: ApiObject, old: ApiObject | undefined): Cause[] {
  if (!old) return checkPodSpec(object, 'spec', ['Always', 'OnFailure', 'Never']);
  const fixed = ({ spec }: ApiObject): Json => {
    const copy = structuredClone(spec) as Json;
    for (const container of containersOf(copy)) delete container['image'];
    const free = ['activeDeadlineSeconds', 'tolerations', 'terminationGracePeriodSeconds', 'nodeName'];
    return { ...copy, ...Object.fromEntries(free.map((name) => [name, undefined])) };
  };
  if (isBound(object) !== isBound(old) || isDeepStrictEqual(fixed(object), fixed(old))) return [];
  const why =
    'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations`,`spec.terminationGracePeriodSeconds`';
  return [forbiddenValue('spec', why)];
}

/** Secrets and ConfigMaps: their keys become files, and those that were made immutable stay as they are. */
export function checkData(object: ApiObject, old: ApiObject | undefined): Cause[] {
  const why = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
  const causes = Object.keys(object['data'] ?? {})
    .filter((key) => !/^[-._a-zA-Z0-9]{1,253}$/.test(key) || /^\.\.?$/.test(key))
    .map((key) => invalidValue(`data[${key}]`, key, why));
  if (old?.['immutable'] !== true) return causes;
  const changed = ['immutable', 'data', 'binaryData'].filter((field) => !isDeepStrictEqual(object[field], old[field]));
  return [...causes, ...changed.map((field) => forbiddenValue(field, 'field is immutable when `immutable` is set'))];
}
