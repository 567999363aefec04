import type { Cause } from '../api-error.ts';
import { isJson } from '../json.ts';
import { objects } from './pod-defaults.ts';

export function required(field: string): Cause {
  return { reason: 'FieldValueRequired', message: 'Required value', field };
}

/**
 * What is wrong with a pod's spec, as far as the node would stumble over it.
 * @param others names of volumes that the pod will have besides its own
 */
export function checkPodSpec(
  spec: unknown,
  path: string,
  restartPolicies: readonly string[],
  others: readonly unknown[] = [],
): Cause[] {
  if (!isJson(spec)) return [required(`${path}.containers`)];
  const causes: Cause[] = [];
  const containers = objects(spec['containers']);
  if (containers.length === 0) causes.push(required(`${path}.containers`));
  const volumes = new Set([...others, ...objects(spec['volumes']).map(({ name }) => name)]);
  const names = new Set<unknown>();
  for (const list of ['initContainers', 'containers']) {
    for (const [index, container] of objects(spec[list]).entries()) {
      const at = `${path}.${list}[${index}]`;
      if (!container['name']) causes.push(required(`${at}.name`));
      else if (names.has(container['name'])) {
        const message = `Duplicate value: ${JSON.stringify(container['name'])}`;
        causes.push({ reason: 'FieldValueDuplicate', message, field: `${at}.name` });
      }
      names.add(container['name']);
      if (!container['image']) causes.push(required(`${at}.image`));
      for (const [mount, { name }] of objects(container['volumeMounts']).entries()) {
        if (volumes.has(name)) continue;
        const field = `${at}.volumeMounts[${mount}].name`;
        causes.push({ reason: 'FieldValueNotFound', message: `Not found: ${JSON.stringify(name)}`, field });
      }
    }
  }
  const policy = String(spec['restartPolicy']);
  if (!restartPolicies.includes(policy)) {
    const names = restartPolicies.map((name) => JSON.stringify(name)).join(', ');
    const field = `${path}.restartPolicy`;
    // A Job must say which one it means.
    const cause: Cause =
      restartPolicies.length === 2
        ? { reason: 'FieldValueRequired', message: `Required value: valid values: ${names}`, field }
        : {
            reason: 'FieldValueNotSupported',
            message: `Unsupported value: "${policy}": supported values: ${names}`,
            field,
          };
    causes.push(cause);
  }
  return causes;
}
