import type { EnvironmentUpdate } from '../../runtime/contracts/api/projects.ts';
import { limitFaults } from '../../runtime/contracts/resources/environment-limits.ts';
import { environmentLimits, type EnvironmentSpec } from '../../runtime/contracts/resources/project.ts';
import { Problem } from '../../runtime/domain/problem.ts';

type Limits = EnvironmentUpdate['limits'];

/** Checks the quantities of a request. @throws Problem `invalid_value` */
export function checkLimits(limits: Limits | undefined): void {
  const [fault] = limitFaults(limits);
  if (fault) throw new Problem('invalid_value', fault.message, { details: { field: fault.field } });
}

/** The environment with changed limits: the change's fields replace the current ones, and null restores a default. Pure. */
export function changedLimits(environment: EnvironmentSpec, change: Limits): EnvironmentSpec {
  const merged = Object.entries({ ...environment.limits, ...change }).filter(([, value]) => value !== null);
  return { ...environment, limits: environmentLimits.parse(Object.fromEntries(merged)) };
}
