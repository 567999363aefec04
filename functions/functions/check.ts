import type { FunctionCreate } from '../../runtime/contracts/api/functions.ts';
import { functionLimits, functionSpec, type FunctionSpec } from '../../runtime/contracts/resources/function.ts';
import { parseDependencies } from '../../runtime/domain/dependencies.ts';
import { checkHost } from '../../runtime/domain/names.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { checkTimeZone, defaultTimeZone, parseSchedule } from '../../runtime/domain/schedule.ts';

/** What belongs to one trigger only. */
const fieldsOf = {
  http: [
    ...(['port', 'hostname', 'idleTimeoutSeconds', 'concurrency', 'requestTimeoutSeconds'] as const),
    ...(['minReplicas', 'maxReplicas'] as const),
  ],
  cron: ['schedule', 'timeZone', 'overlap'],
} as const;

/** What only the other trigger has. */
export function otherFields(trigger: FunctionSpec['trigger']) {
  return fieldsOf[trigger === 'http' ? 'cron' : 'http'];
}

/** The spec of a new function with its defaults. @throws Problem `invalid_value` for what its trigger has no use for */
export function specOf(given: Omit<FunctionCreate, 'name'>): FunctionSpec {
  const { trigger, schedule, timeZone = defaultTimeZone, overlap = 'Forbid' } = given;
  const other = trigger === 'http' ? 'cron' : 'http';
  const stray = otherFields(trigger).find((field) => given[field] !== undefined);
  if (stray) throw refusal(stray, `"${stray}" goes with the trigger ${other}; this function has ${trigger}.`);
  if (given.hostname !== undefined) checkHost(given.hostname);
  const { minReplicas, maxReplicas } = functionLimits(given);
  if (minReplicas > maxReplicas) {
    throw refusal('minReplicas', `"minReplicas" is ${minReplicas}, more than "maxReplicas", ${maxReplicas}.`);
  }
  parseDependencies(given.dependencies ?? [], given.runtime);
  if (trigger === 'http') return functionSpec.parse(given);
  if (schedule === undefined) {
    throw refusal('schedule', 'The trigger cron needs a schedule, such as "*/5 * * * *" for every five minutes.');
  }
  parseSchedule(schedule);
  checkTimeZone(timeZone);
  return functionSpec.parse({ ...given, timeZone, overlap });
}

function refusal(field: string, message: string): Problem {
  return new Problem('invalid_value', message, { details: { field } });
}
