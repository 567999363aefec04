import { createHash } from 'node:crypto';
import type { WorkloadKind } from './names.ts';
import { Problem } from './problem.ts';

/** One environment variable. */
export interface Variable {
  name: string;
  value: string;
}

/** Maximum number of variables, and of secrets, of a workload. */
export const variablesMax = 200;
/** Maximum bytes of a secret, or of a variable with its references resolved. Linux allows 128 KiB. */
export const valueMaxBytes = 64 * 1024;
/** Maximum bytes of all names and values together. A Kubernetes Secret holds 1 MiB. */
export const environmentMaxBytes = 512 * 1024;
/** Set by the platform, with values that differ between pods: users cannot set them or refer to them. */
const reservedNames: readonly string[] = ['PORT', 'SVC_MODE', 'SVC_TRIGGER'];

/** The pods of jobs get no variables from the platform. */
function reservedIn(kind: WorkloadKind): readonly string[] {
  return kind === 'Job' ? [] : reservedNames;
}

const nameShape = /^[A-Za-z_][A-Za-z0-9_]{0,199}$/;
/** `$$`, a reference, or an incomplete reference. */
const dollar = /\$\$|\$\{([^{}$]*)\}|\$\{/g;

/** Checks the name of a variable or secret of a workload. @throws Problem `invalid_value` */
export function checkVariableName(name: string, field = 'env', kind: WorkloadKind = 'App'): string {
  if (!nameShape.test(name)) {
    throw refusal(
      field,
      `"${name.slice(0, 250)}" is not a valid variable name: use letters, digits and underscores, starting with a letter or underscore.`,
    );
  }
  if (reservedIn(kind).includes(name)) throw refusal(field, `"${name}" is set by the platform; choose another name.`);
  return name;
}

/** Checks the value of a variable or secret; the message never contains it. @throws Problem `invalid_value` */
export function checkVariableValue(name: string, value: string, field = 'env'): string {
  if (value.includes('\0')) {
    throw refusal(
      field,
      `The value of "${name}" contains a NUL character, which environment variables cannot contain.`,
    );
  }
  if (Buffer.byteLength(value) > valueMaxBytes) throw tooLarge(name, field);
  return value;
}

/**
 * The whole environment: in variables, `${NAME}` is replaced by that variable's resolved value or that secret, and `$$` by
 * `$`; secrets are not changed. A secret overrides a variable with its name. Sorted by name, so that the same settings
 * always make the same list. Pure.
 * @param kind of the workload, which decides the names that the platform sets
 * @throws Problem `invalid_value` for an invalid name, a reference to an unset variable or to itself (with the chain of
 * references), and an environment that is too large
 */
export function resolveVariables(
  variables: readonly Variable[],
  secrets: readonly Variable[] = [],
  kind: WorkloadKind = 'App',
): Variable[] {
  if (variables.length > variablesMax || secrets.length > variablesMax) {
    throw refusal('env', `A workload can have at most ${variablesMax} variables and ${variablesMax} secrets.`);
  }
  for (const { name } of [...variables, ...secrets]) checkVariableName(name, 'env', kind);
  const raw = new Map(variables.map(({ name, value }) => [name, value]));
  const resolved = new Map(secrets.map(({ name, value }) => [name, value]));
  const reserved = reservedIn(kind);
  for (const name of raw.keys()) resolve(name, { raw, resolved, reserved, path: [] });
  const all = [...resolved].map(([name, value]) => ({ name, value }));
  const size = all.reduce((sum, { name, value }) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0);
  if (size > environmentMaxBytes) {
    throw refusal('env', `The environment has ${size} bytes; the limit is ${environmentMaxBytes / 1024} KiB.`);
  }
  return all.sort((a, b) => (a.name < b.name ? -1 : 1));
}

interface Resolution {
  raw: ReadonlyMap<string, string>;
  /** The secrets, and the variables that are resolved so far. */
  resolved: Map<string, string>;
  reserved: readonly string[];
  /** The chain of references, starting with the variable that is being resolved. */
  path: readonly string[];
}

function resolve(name: string, { raw, resolved, reserved, path }: Resolution): string {
  const value = resolved.get(name);
  if (value !== undefined) return value;
  const resolution = { raw, resolved, reserved, path: [...path, name] };
  const template = templateOf(name, resolution);
  const resolvedValue = checkVariableValue(name, replaceReferences(name, template, resolution));
  resolved.set(name, resolvedValue);
  return resolvedValue;
}

/** The unresolved value of a variable. @throws Problem if it cannot be referred to, with the chain that leads to it */
function templateOf(name: string, { raw, reserved, path: chain }: Resolution): string {
  const [first = name] = chain;
  const path = chain.join(' → ');
  if (reserved.includes(name)) {
    throw refusal('env', `"${first}" refers to "${name}", which differs between pods (${path}).`, chain);
  }
  const template = raw.get(name);
  if (template === undefined) {
    throw refusal('env', `"${first}" refers to "${name}", which is not set (${path}).`, chain);
  }
  const start = chain.indexOf(name);
  if (start < chain.length - 1) {
    throw refusal('env', `"${name}" refers to itself (${chain.slice(start).join(' → ')}).`, chain);
  }
  return template;
}

function replaceReferences(name: string, template: string, resolution: Resolution): string {
  let result = '';
  let bytes = 0;
  const append = (part: string) => {
    bytes += Buffer.byteLength(part);
    // Checked while it grows: nested references could exceed the memory.
    if (bytes > valueMaxBytes) throw tooLarge(name, 'env');
    result += part;
  };
  let end = 0;
  for (const match of template.matchAll(dollar)) {
    const [text, reference] = match;
    append(template.slice(end, match.index));
    end = match.index + text.length;
    if (text === '$$') append('$');
    else if (reference !== undefined && nameShape.test(reference)) append(resolve(reference, resolution));
    else {
      throw refusal(
        'env',
        `The value of "${name}" contains an invalid \${…}; write $\${ for a literal \${.`,
        resolution.path,
      );
    }
  }
  append(template.slice(end));
  return result;
}

/** The names that a value refers to. Pure. */
export function referencesOf(value: string): string[] {
  return [...value.matchAll(dollar)].flatMap(([, reference]) => (reference === undefined ? [] : [reference]));
}

/**
 * A digest of a resolved environment, which does not depend on the order. The salt prevents someone who only sees the
 * digest from guessing secrets. Pure.
 * @returns 16 hexadecimal digits
 */
export function environmentDigest(variables: readonly Variable[], salt = ''): string {
  const sorted = variables.map(({ name, value }) => [name, value]).sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([salt, sorted]))
    .digest('hex')
    .slice(0, 16);
}

function tooLarge(name: string, field: string): Problem {
  return refusal(field, `The value of "${name}" is larger than ${valueMaxBytes / 1024} KiB.`);
}

function refusal(field: string, message: string, path?: readonly string[]): Problem {
  return new Problem('invalid_value', message, { details: { field, ...(path && { path }) } });
}
