import { checkBytes, checkCpu } from '../../domain/quantity.ts';
import { Problem } from '../../domain/problem.ts';
import type { EnvironmentLimits } from './project.ts';

/** The quantities among the limits, each with the check that its text must pass. */
const checks = {
  cpu: (text) => checkCpu(text),
  memory: (text) => void checkBytes(text, 'memory', { min: '64Mi' }),
  storage: (text) => void checkBytes(text, 'storage', { min: '1Mi' }),
  // Less than what a container asks for by default would let none start.
  containerMemory: (text) => void checkBytes(text, 'containerMemory', { min: '64Mi' }),
} satisfies Record<string, (text: string) => void>;

type Quantities = { readonly [Field in keyof typeof checks]?: string | null | undefined };

/** What is wrong with the limits that were given, by field; empty when nothing is. */
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
