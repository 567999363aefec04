import { isDeepStrictEqual } from 'node:util';
import type { Cause } from '../causes.ts';
import { forbiddenValue, invalidValue, requiredValue, unsupportedValue } from '../causes.ts';
import { isJson, objects, valueAt, type Json } from '../json.ts';
import type { ApiObject } from '../resource.ts';
import { containersOf } from './defaults.ts';

/** Checks the fields of a pod spec that the node needs. */
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
  // A Job must set its restart policy.
  const names = restartPolicies.map((name) => JSON.stringify(name)).join(', ');
  return [...causes, requiredValue(field, `valid values: ${names}`)];
}

/** A selector that does not match its own template would create pods without end. */
export function checkWorkload(object: ApiObject): Cause[] {
  const causes = checkPodSpec(object, 'spec.template.spec', ['Always']);
  const labels = valueAt(object, 'spec.template.metadata.labels') ?? null;
  const selector = Object.entries(valueAt(object, 'spec.selector.matchLabels') ?? {});
  if (selector.length === 0) causes.push(requiredValue('spec.selector'));
  else if (isJson(labels) && selector.every(([key, value]) => labels[key] === value)) return causes;
  const reason = '`selector` does not match template `labels`';
  return [...causes, invalidValue('spec.template.metadata.labels', labels, reason)];
}

export function checkJob(object: ApiObject): Cause[] {
  return checkPodSpec(object, 'spec.template.spec', ['OnFailure', 'Never']);
}

export function checkCronJob(object: ApiObject): Cause[] {
  const causes = checkPodSpec(object, 'spec.jobTemplate.spec.template.spec', ['OnFailure', 'Never']);
  return valueAt(object, 'spec.schedule') ? causes : [requiredValue('spec.schedule'), ...causes];
}

/** The annotation that the node writes when it binds a pod to ports (docs/decisions/0009-pods-as-processes.md). */
const isBound = ({ metadata }: ApiObject) => metadata.annotations?.['platform.svc/container-ports'];

/** Only a few fields of an existing pod may change. */
export function checkPod(object: ApiObject, old: ApiObject | undefined): Cause[] {
  if (!old) return checkPodSpec(object, 'spec', ['Always', 'OnFailure', 'Never']);
  const fixedPart = ({ spec }: ApiObject): Json => {
    const copy = structuredClone(spec) as Json;
    for (const container of containersOf(copy)) delete container['image'];
    const changeable = ['activeDeadlineSeconds', 'tolerations', 'terminationGracePeriodSeconds', 'nodeName'];
    return { ...copy, ...Object.fromEntries(changeable.map((name) => [name, undefined])) };
  };
  if (isBound(object) !== isBound(old) || isDeepStrictEqual(fixedPart(object), fixedPart(old))) return [];
  const reason =
    'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations`,`spec.terminationGracePeriodSeconds`';
  return [forbiddenValue('spec', reason)];
}

/** Checks Secrets and ConfigMaps: keys must be valid file names, and immutable data must not change. */
export function checkData(object: ApiObject, old: ApiObject | undefined): Cause[] {
  const reason = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
  const causes = Object.keys(object['data'] ?? {})
    .filter((key) => !/^[-._a-zA-Z0-9]{1,253}$/.test(key) || /^\.\.?$/.test(key))
    .map((key) => invalidValue(`data[${key}]`, key, reason));
  if (old?.['immutable'] !== true) return causes;
  const changed = ['immutable', 'data', 'binaryData'].filter((field) => !isDeepStrictEqual(object[field], old[field]));
  return [...causes, ...changed.map((field) => forbiddenValue(field, 'field is immutable when `immutable` is set'))];
}
