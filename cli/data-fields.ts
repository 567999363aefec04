import type { z } from 'zod';
import { commonFlags } from './common-flags.ts';
import { usageFailure } from './failure.ts';
import type { Flag } from './flags.ts';
import { suggestion } from './suggest.ts';

/** The names of the fields of the objects that a schema describes, sorted. */
export function fieldsOf(schema: z.ZodType): string[] {
  return [...new Set(namesOf(schema))].toSorted();
}

function namesOf(schema: z.core.$ZodType): string[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === 'object') return Object.keys(def.shape);
  if (def.type === 'union') return def.options.flatMap(namesOf);
  if (def.type === 'intersection') return [...namesOf(def.left), ...namesOf(def.right)];
  return [];
}

/** The option `--json`, with fields of the objects that the schema describes; an empty list when no field is named. */
export function fieldsFlag(schema: z.ZodType): Flag<readonly string[] | undefined> {
  return {
    ...commonFlags.json,
    read(raw, name) {
      if (raw === undefined || typeof raw === 'boolean') return undefined;
      const names = raw.flatMap((value) => value.split(',')).map((value) => value.trim());
      const fields = fieldsOf(schema);
      const unknown = names.find((field) => !fields.includes(field));
      if (unknown === undefined) return names;
      const close = suggestion(unknown, fields);
      throw usageFailure(
        `${name}: there is no field "${unknown}".`,
        close === undefined ? `the fields are ${fields.join(', ')}` : `did you mean ${close}?`,
      );
    },
  };
}
