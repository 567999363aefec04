import type { EnvironmentUpdate } from '../../runtime/contracts/api/projects.ts';
import { environmentLimits, type EnvironmentSpec } from '../../runtime/contracts/resources/project.ts';
import { checkBytes, checkCpu } from '../../runtime/domain/quantity.ts';

type Limits = EnvironmentUpdate['limits'];

/** Checks the quantities that were given. @throws Problem `invalid_value` */
export function checkLimits(limits: Limits | undefined): void {
  const { cpu, memory, storage, containerMemory } = limits ?? {};
  if (typeof cpu === 'string') checkCpu(cpu);
  if (typeof memory === 'string') checkBytes(memory, 'memory', { min: '64Mi' });
  if (typeof storage === 'string') checkBytes(storage, 'storage', { min: '1Mi' });
  // Less than what a container asks for by default would let none start.
  if (typeof containerMemory === 'string') checkBytes(containerMemory, 'containerMemory', { min: '64Mi' });
}

/** The environment with the limits changed: what is named is set, and null goes back to the default. Pure. */
export function changedLimits(environment: EnvironmentSpec, change: Limits): EnvironmentSpec {
  const merged = Object.entries({ ...environment.limits, ...change }).filter(([, value]) => value !== null);
  return { ...environment, limits: environmentLimits.parse(Object.fromEntries(merged)) };
}
