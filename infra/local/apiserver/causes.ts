/** One reason for a refusal, usually about a field. `reason` is machine-readable, such as `FieldValueInvalid`. */
export interface Cause {
  reason: string;
  message: string;
  field?: string;
}

const text = (value: unknown) => JSON.stringify(value ?? null);

/** A wrong value. The messages in this file are those of apimachinery/pkg/util/validation/field. */
export function invalidValue(field: string, value: unknown, why: string): Cause {
  return { reason: 'FieldValueInvalid', message: `Invalid value: ${text(value)}: ${why}`, field };
}

/** A missing required field. */
export function requiredValue(field: string, why?: string): Cause {
  return { reason: 'FieldValueRequired', message: why ? `Required value: ${why}` : 'Required value', field };
}

/** A field that must not be set or changed in this situation. */
export function forbiddenValue(field: string, why: string): Cause {
  return { reason: 'FieldValueForbidden', message: `Forbidden: ${why}`, field };
}

/** A value outside of the supported ones. */
export function unsupportedValue(field: string, value: unknown, supported: readonly unknown[]): Cause {
  const message = `Unsupported value: ${text(value)}: supported values: ${supported.map(text).join(', ')}`;
  return { reason: 'FieldValueNotSupported', message, field };
}
