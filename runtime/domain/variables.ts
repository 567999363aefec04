import { createHash } from 'node:crypto';
import { Problem } from './problem.ts';

/** One environment variable. */
export interface Variable {
  name: string;
  value: string;
}

/** How many variables, and how many secrets, one workload has at most. */
export const variablesMax = 200;
/** Bytes of one value, of a variable with its references resolved and of a secret: Linux takes 128 KiB at most. */
export const valueMaxBytes = 64 * 1024;
/** Bytes of all names and values together; a Kubernetes Secret holds 1 MiB at most. */
export const environmentMaxBytes = 512 * 1024;
/** Set by the platform and different from pod to pod, so nobody sets them and no reference resolves them (spec.md §2.5). */
export const reservedNames: readonly string[] = ['PORT', 'SVC_MODE', 'SVC_TRIGGER'];

const nameShape = /^[A-Za-z_][A-Za-z0-9_]{0,199}$/;
/** `$$`, a reference, or what only begins as one. */
const dollar = /\$\$|\$\{([^{}$]*)\}|\$\{/g;

/** Checks the name of a variable or secret. @throws Problem `invalid_value` */
export function checkVariableName(name: string, field = 'env'): string {
  if (!nameShape.test(name)) {
    throw refusal(
      field,
      `"${name.slice(0, 250)}" is not a usable variable name: use letters, digits and underscores, not a digit first.`,
    );
  }
  if (reservedNames.includes(name)) throw refusal(field, `"${name}" is set by the platform; choose another name.`);
  return name;
}

/** Checks what a variable or secret is to hold; the message never carries it. @throws Problem `invalid_value` */
export function checkVariableValue(name: string, value: string, field = 'env'): string {
  if (value.includes('\0')) {
    throw refusal(field, `The value of "${name}" contains a NUL character, which no environment can hold.`);
  }
  if (Buffer.byteLength(value) > valueMaxBytes) throw tooLarge(name, field);
  return value;
}

/**
 * The whole environment: the variables with every `${NAME}` replaced by that variable's resolved value or by that
 * secret, and `$$` by `$`; the secrets as they are. A secret wins over a variable of its name. Sorted by name, so that
 * the same settings always make the same list. Pure.
 * @throws Problem `invalid_value` for a name that is not usable, a reference to what is not set or to itself, with the
 * path that leads there, and for an environment that is too large
 */
export function resolveVariables(variables: readonly Variable[], secrets: readonly Variable[] = []): Variable[] {
  if (variables.length > variablesMax || secrets.length > variablesMax) {
    throw refusal('env', `An environment has at most ${variablesMax} variables and ${variablesMax} secrets.`);
  }
  for (const { name } of [...variables, ...secrets]) checkVariableName(name);
  const raw = new Map(variables.map(({ name, value }) => [name, value]));
  const resolved = new Map(secrets.map(({ name, value }) => [name, value]));
  for (const name of raw.keys()) resolve(name, { raw, resolved, path: [] });
  const all = [...resolved].map(([name, value]) => ({ name, value }));
  const size = all.reduce((sum, { name, value }) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0);
  if (size > environmentMaxBytes) {
    throw refusal('env', `The environment has ${size} bytes; ${environmentMaxBytes / 1024} KiB are the most.`);
  }
  return all.sort((a, b) => (a.name < b.name ? -1 : 1));
}

interface Resolution {
  raw: ReadonlyMap<string, string>;
  /** What is resolved so far. */
  resolved: Map<string, string>;
  /** Who referred to whom, from the variable that began. */
  path: readonly string[];
}

function resolve(name: string, { raw, resolved, path }: Resolution): string {
  const known = resolved.get(name);
  if (known !== undefined) return known;
  const here = [...path, name];
  const [first = name] = here;
  const value = raw.get(name);
  if (reservedNames.includes(name)) {
    throw refusal('env', `"${first}" refers to "${name}", which differs from pod to pod (${here.join(' → ')}).`, here);
  }
  if (value === undefined) {
    throw refusal('env', `"${first}" refers to "${name}", which is not set (${here.join(' → ')}).`, here);
  }
  if (path.includes(name)) {
    throw refusal('env', `"${name}" refers to itself (${here.slice(path.indexOf(name)).join(' → ')}).`, here);
  }
  let bytes = 0;
  const add = (part: string): string => {
    bytes += Buffer.byteLength(part);
    // While it grows: references to references could make it larger than the memory.
    if (bytes > valueMaxBytes) throw tooLarge(name, 'env');
    return part;
  };
  const parts: string[] = [];
  let end = 0;
  for (const match of value.matchAll(dollar)) {
    const [typed, reference] = match;
    parts.push(add(value.slice(end, match.index)));
    end = match.index + typed.length;
    if (typed === '$$') parts.push(add('$'));
    else if (reference !== undefined && nameShape.test(reference))
      parts.push(add(resolve(reference, { raw, resolved, path: here })));
    else {
      throw refusal(
        'env',
        `The value of "${name}" has a "\${" that begins no reference; write $\${ for one that is meant as it is.`,
        here,
      );
    }
  }
  parts.push(add(value.slice(end)));
  const whole = checkVariableValue(name, parts.join(''));
  resolved.set(name, whole);
  return whole;
}

/** The names to which a value refers. Pure. */
export function referencesOf(value: string): string[] {
  return [...value.matchAll(dollar)].flatMap(([, reference]) => (reference === undefined ? [] : [reference]));
}

/**
 * Names one resolved environment: the same for the same content, in whatever order, and another one for any other. The
 * salt keeps who sees only the name from trying what the secrets could be. Pure.
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
