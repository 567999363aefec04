import { Environment } from '@marcbachmann/cel-js';
import { parseBytes } from '../../../runtime/domain/quantity.ts';
import type { Cause } from './causes.ts';
import { invalidValue } from './causes.ts';
import { isJson } from './json.ts';
import { childrenOf, partsOf, type Part, type Rule, type Schema } from './structural.ts';

/** A compiled CEL rule. */
export interface CompiledRule {
  /** Whether it uses `oldSelf`, so that it applies only to updates. */
  transition: boolean;
  /** Evaluates the rule. False also when the evaluation fails, for example because a field is missing. */
  holds(self: unknown, oldSelf: unknown): boolean;
}

class Quantity {
  readonly bytes: number;
  constructor(text: string) {
    this.bytes = parseBytes(text) ?? Number.NaN;
  }
}

/** CEL with the Kubernetes extensions that the platform's definitions use. */
const creation = new Environment()
  .registerVariable('self', 'dyn')
  .registerType('Quantity', Quantity)
  .registerFunction('quantity(string): Quantity', (text: string) => new Quantity(text))
  .registerFunction('Quantity.compareTo(Quantity): int', (one: Quantity, other: Quantity) =>
    BigInt(Math.sign(one.bytes - other.bytes)),
  );
const update = creation.clone().registerVariable('oldSelf', 'dyn');

const compiled = new Map<string, CompiledRule>();

/** Compiles a rule, or returns the cached one. @throws Error for invalid CEL or unknown functions */
export function compileRule(rule: string): CompiledRule {
  const existing = compiled.get(rule);
  if (existing) return existing;
  const { valid, error } = update.check(rule);
  if (!valid) throw new Error(`the rule "${rule}" is invalid: ${error?.message ?? 'cannot be parsed'}`);
  const evaluate = update.parse(rule);
  const compiledRule = {
    transition: !creation.check(rule).valid,
    holds(self: unknown, oldSelf: unknown) {
      try {
        return evaluate({ self: toCel(self), oldSelf: toCel(oldSelf) }) === true;
      } catch {
        return false;
      }
    },
  };
  compiled.set(rule, compiledRule);
  return compiledRule;
}

/** Converts a JSON value to CEL: integers become `int`. */
function toCel(value: unknown): unknown {
  if (Number.isInteger(value)) return BigInt(value as number);
  if (Array.isArray(value)) return value.map(toCel);
  if (!isJson(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, toCel(child)]));
}

/** All rules in a schema. */
export function rulesIn(schema: Schema): Rule[] {
  return [...(schema['x-kubernetes-validations'] ?? []), ...childrenOf(schema).flatMap(rulesIn)];
}

/** The violations of its schema's rules by a value. */
export function checkRules(part: Part): Cause[] {
  const { value, schema, path, old } = part;
  const causes: Cause[] = [];
  for (const { rule, message = `failed rule: ${rule}` } of schema['x-kubernetes-validations'] ?? []) {
    const test = compileRule(rule);
    if ((test.transition && old === undefined) || test.holds(value, old)) continue;
    // Objects and lists are shown by their type.
    causes.push(invalidValue(path || '<nil>', typeof value === 'object' ? schema.type : value, message));
  }
  return [...causes, ...partsOf(part).flatMap(checkRules)];
}
