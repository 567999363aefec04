import type { Cause } from './api-error.ts';
import { compileRule, type CompiledRule } from './cel.ts';
import { isJson } from './json.ts';
import { elementOf, identityOf, type Rule, type Schema } from './structural.ts';

const compiled = new Map<string, CompiledRule>();

/** A rule made ready, once. @throws Error for one that uses what the evaluator does not know */
export function ruleOf({ rule }: Rule): CompiledRule {
  let found = compiled.get(rule);
  if (!found) {
    found = compileRule(rule);
    compiled.set(rule, found);
  }
  return found;
}

/** Which rules of the schema a value breaks. */
export function checkRules(value: unknown, schema: Schema, path: string, old: unknown): Cause[] {
  const causes: Cause[] = [];
  for (const rule of schema['x-kubernetes-validations'] ?? []) {
    const test = ruleOf(rule);
    if (test.transition && old === undefined) continue;
    if (test.holds({ self: value, oldSelf: old })) continue;
    const message = `Invalid value: ${subject(value, schema)}: ${rule.message ?? `failed rule: ${rule.rule}`}`;
    causes.push({ reason: 'FieldValueInvalid', message, field: path || '<nil>' });
  }
  if (Array.isArray(value)) {
    const identity = identityOf(schema);
    const before = Array.isArray(old) ? (old as unknown[]) : [];
    for (const [index, item] of value.entries()) {
      const counterpart = identity ? before.find((other) => identity(other) === identity(item)) : undefined;
      if (schema.items) causes.push(...checkRules(item, schema.items, `${path}[${index}]`, counterpart));
    }
  } else if (isJson(value)) {
    const before = isJson(old) ? old : {};
    const { properties = {} } = schema;
    const element = elementOf(schema);
    for (const [name, child] of Object.entries(value)) {
      const known = properties[name] ?? element;
      if (known) causes.push(...checkRules(child, known, path ? `${path}.${name}` : name, before[name]));
    }
  }
  return causes;
}

/** Containers are shown by their type. */
function subject(value: unknown, schema: Schema): string {
  if (schema.type === 'object' || schema.type === 'array') return `"${schema.type}"`;
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
