import type { EnvironmentUpdate } from '../../runtime/contracts/api/projects.ts';
import { limitFaults } from '../../runtime/contracts/resources/environment-limits.ts';
import { environmentLimits, type EnvironmentSpec } from '../../runtime/contracts/resources/project.ts';
import { parseBytes, parseMillicores } from '../../runtime/domain/quantity.ts';
import { Problem } from '../../runtime/domain/problem.ts';

type Limits = EnvironmentUpdate['limits'];

/** Checks the quantities of a request. @throws Problem `invalid_value` */
export function checkLimits(limits: Limits | undefined): void {
  const [fault] = limitFaults(limits);
  if (fault) throw new Problem('invalid_value', fault.message, { details: { field: fault.field } });
}

/**
 * Checks limits that a member sets against the installation's ceilings. A limit that an admin has set higher may stay.
 * @throws Problem `limit_not_allowed`
 */
export function checkCeilings(
  limits: Limits | undefined,
  { current, defaults, ceilings }: { current?: Limits | undefined; defaults?: Limits | undefined; ceilings: Limits },
): void {
  for (const [field, amountOf] of Object.entries(amounts)) {
    const name = field as keyof typeof amounts;
    const value = limits?.[name];
    const ceiling = ceilings[name];
    if (value === undefined || value === null || ceiling === undefined || ceiling === null) continue;
    // The installation's default is allowed even above the ceiling: every environment has it.
    const highest = Math.max(...[ceiling, current?.[name], defaults?.[name]].map((text) => amountOf(text ?? 0)));
    if (amountOf(value) <= highest) continue;
    throw new Problem(
      'limit_not_allowed',
      `The limit ${field} is at most ${ceiling} for members. A platform admin can set ${value}, or raise the ceiling: svc platform config set --max-${flagOf[name]}.`,
      { details: { field, max: ceiling } },
    );
  }
}

/** How much each limit is, to compare them. */
const amounts = {
  cpu: (value) => parseMillicores(String(value)) ?? Infinity,
  memory: (value) => parseBytes(String(value)) ?? Infinity,
  storage: (value) => parseBytes(String(value)) ?? Infinity,
  pods: Number,
  containerMemory: (value) => parseBytes(String(value)) ?? Infinity,
} satisfies Record<keyof Limits, (value: string | number) => number>;

const flagOf = { cpu: 'cpu', memory: 'memory', storage: 'storage', pods: 'pods', containerMemory: 'container-memory' };

/** The environment with changed limits: the change's fields replace the current ones, and null restores a default. Pure. */
export function changedLimits(environment: EnvironmentSpec, change: Limits): EnvironmentSpec {
  const merged = Object.entries({ ...environment.limits, ...change }).filter(([, value]) => value !== null);
  return { ...environment, limits: environmentLimits.parse(Object.fromEntries(merged)) };
}
