import { isJson } from './json.ts';

type Step = (value: unknown) => unknown[];

/**
 * A JSONPath as printer columns have it: `.spec.replicas`, `.metadata.labels.a\.b`, `.items[0]`, `.items[*].name` and
 * `.status.conditions[?(@.type=="Ready")].status`. @throws Error for anything else
 */
export function jsonPath(path: string): (object: unknown) => unknown[] {
  const steps: Step[] = [];
  const pattern =
    /\.(?<name>(?:[\w-]|\\.)+)|\[(?<index>\d+)\]|(?<all>\[\*\])|\['(?<quoted>[^']*)'\]|\[\?\(@\.(?<key>[\w.]+)\s*==\s*["'](?<value>[^"']*)["']\)\]/y;
  while (pattern.lastIndex < path.length) {
    const at = pattern.lastIndex;
    const groups = pattern.exec(path)?.groups;
    if (!groups) throw new Error(`cannot read the path "${path}" at ${at}`);
    steps.push(stepOf(groups));
  }
  return (object) => steps.reduce<unknown[]>((values, step) => values.flatMap(step), [object]);
}

function stepOf({ name, quoted, index, all, key, value }: Record<string, string | undefined>): Step {
  if (index !== undefined) return (list) => (Array.isArray(list) ? (list as unknown[]).slice(+index, +index + 1) : []);
  if (all) return (list) => (Array.isArray(list) ? (list as unknown[]) : []);
  if (key !== undefined) {
    return (list) =>
      (Array.isArray(list) ? (list as unknown[]) : []).filter((item) => isJson(item) && item[key] === value);
  }
  const field = quoted ?? (name ?? '').replaceAll(/\\(.)/g, '$1');
  return (item) => (isJson(item) && item[field] !== undefined ? [item[field]] : []);
}
