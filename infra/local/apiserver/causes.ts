import type { Cause } from './api-error.ts';

const text = (value: unknown) => JSON.stringify(value ?? null);

/** A value that is wrong. The words of these are those of apimachinery/pkg/util/validation/field. */
export function invalidValue(field: string, value: unknown, why: string): Cause {
  return { reason: 'FieldValueInvalid', message: `Invalid value: ${text(value)}: ${why}`, field };
}

/** A field that must not be left out. */
export function requiredValue(field: string, why?: string): Cause {
  return { reason: 'FieldValueRequired', message: why ? `Required value: ${why}` : 'Required value', field };
}

/** A field that must not be as it is here and now. */
export function forbiddenValue(field: string, why: string): Cause {
  return { reason: 'FieldValueForbidden', message: `Forbidden: ${why}`, field };
}

/** A value that is none of those that there are. */
export function unsupportedValue(field: string, value: unknown, supported: readonly unknown[]): Cause {
  const message = `Unsupported value: ${text(value)}: supported values: ${supported.map(text).join(', ')}`;
  return { reason: 'FieldValueNotSupported', message, field };
}
