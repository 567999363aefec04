import { checkBytes, checkCpu } from '../../domain/quantity.ts';
import { Problem } from '../../domain/problem.ts';
import type { EnvironmentLimits } from './project.ts';

/** The limits that are quantities, with their checks. */
const checks = {
  cpu: (text) => checkCpu(text),
  memory: (text) => void checkBytes(text, 'memory', { min: '64Mi' }),
  storage: (text) => void checkBytes(text, 'storage', { min: '1Mi' }),
  // With less than the default memory request, no container could start.
  containerMemory: (text) => void checkBytes(text, 'containerMemory', { min: '64Mi' }),
} satisfies Record<string, (text: string) => void>;

type Quantities = { readonly [Field in keyof typeof checks]?: string | null | undefined };

/** The invalid limits; empty if all are valid. */
export function limitFaults(limits: EnvironmentLimits | Quantities = {}): { field: string; message: string }[] {
  return Object.entries(checks).flatMap(([field, check]) => {
    const text = limits[field as keyof typeof checks];
    try {
      if (typeof text === 'string') check(text);
      return [];
    } catch (error) {
      if (error instanceof Problem) return [{ field, message: error.message }];
      throw error;
    }
  });
}
