import { Environment } from '@marcbachmann/cel-js';
import { parseBytes } from '../../../runtime/domain/quantity.ts';
import type { Cause } from './api-error.ts';
import { invalidValue } from './causes.ts';
import { isJson } from './json.ts';
import { childrenOf, partsOf, type Part, type Rule, type Schema } from './structural.ts';

/** A rule that was read once and may be asked often. */
export interface CompiledRule {
  /** Whether it speaks of the object as it was before, and so of updates only. */
  transition: boolean;
  /** False too where it fails, as with a field that is not there. */
  holds(self: unknown, oldSelf: unknown): boolean;
}

class Quantity {
  readonly bytes: number;
  constructor(text: string) {
    this.bytes = parseBytes(text) ?? Number.NaN;
  }
}

/** CEL with what Kubernetes adds to it, as far as the platform's definitions use it. */
const creation = new Environment()
  .registerVariable('self', 'dyn')
  .registerType('Quantity', Quantity)
  .registerFunction('quantity(string): Quantity', (text: string) => new Quantity(text))
  .registerFunction('Quantity.compareTo(Quantity): int', (one: Quantity, other: Quantity) =>
    BigInt(Math.sign(one.bytes - other.bytes)),
  );
const update = creation.clone().registerVariable('oldSelf', 'dyn');

const compiled = new Map<string, CompiledRule>();

/** A rule made ready, once. @throws Error for one that is no CEL, or uses functions that are not known */
export function ruleOf(rule: string): CompiledRule {
  const known = compiled.get(rule);
  if (known) return known;
  const { valid, error } = update.check(rule);
  if (!valid) throw new Error(`the rule "${rule}": ${error?.message ?? 'cannot be read'}`);
  const evaluate = update.parse(rule);
  const made = {
    transition: !creation.check(rule).valid,
    holds(self: unknown, oldSelf: unknown) {
      try {
        return evaluate({ self: typed(self), oldSelf: typed(oldSelf) }) === true;
      } catch {
        return false;
      }
    },
  };
  compiled.set(rule, made);
  return made;
}

/** Whole numbers are CEL's `int`. */
function typed(value: unknown): unknown {
  if (Number.isInteger(value)) return BigInt(value as number);
  if (Array.isArray(value)) return value.map(typed);
  if (!isJson(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, typed(child)]));
}

/** Every rule in a schema. */
export function rulesIn(schema: Schema): Rule[] {
  return [...(schema['x-kubernetes-validations'] ?? []), ...childrenOf(schema).flatMap(rulesIn)];
}

/** Which rules of its schema a value breaks. */
export function checkRules(part: Part): Cause[] {
  const { value, schema, path, old } = part;
  const causes: Cause[] = [];
  for (const { rule, message = `failed rule: ${rule}` } of schema['x-kubernetes-validations'] ?? []) {
    const test = ruleOf(rule);
    if ((test.transition && old === undefined) || test.holds(value, old)) continue;
    // Containers are shown by their type.
    causes.push(invalidValue(path || '<nil>', typeof value === 'object' ? schema.type : value, message));
  }
  return [...causes, ...partsOf(part).flatMap(checkRules)];
}
