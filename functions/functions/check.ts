import type { FunctionCreate } from '../../runtime/contracts/api/functions.ts';
import {
  functionLimits,
  functionSpec,
  type FunctionResource,
  type FunctionSource,
  type FunctionSpec,
} from '../../runtime/contracts/resources/function.ts';
import { parseDependencies } from '../../runtime/domain/dependencies.ts';
import { checkImage } from '../../runtime/domain/image.ts';
import { checkHost } from '../../runtime/domain/names.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { checkTimeZone, defaultTimeZone, parseSchedule } from '../../runtime/domain/schedule.ts';

const ofRequests = ['hostname', 'concurrency'] as const;
const ofServing = ['port', 'idleTimeoutSeconds', 'requestTimeoutSeconds', 'minReplicas', 'maxReplicas'] as const;
const ofSchedules = ['schedule', 'timeZone', 'overlap'] as const;

/** What a function with this trigger has no use for. Pure. */
export function strayFields(trigger: FunctionSpec['trigger']) {
  if (trigger === 'cron') return [...ofRequests, ...ofServing];
  return trigger === 'http' ? ofSchedules : [...ofRequests, ...ofSchedules];
}

/** @throws Problem `invalid_value` for a function that has no public route */
export function checkRoute({
  metadata: { name },
  spec: { trigger },
}: Pick<FunctionResource, 'metadata' | 'spec'>): void {
  if (trigger === 'http') return;
  throw refusal('trigger', `The function "${name}" has the trigger ${trigger}, and no public route to gate.`);
}

/** A function as it is asked for, with its variables and its security settings as the spec has them. */
export type NewFunction = Omit<FunctionCreate, 'name' | 'env' | 'security' | 'trigger' | 'events'> &
  Pick<FunctionSpec, 'env' | 'security' | 'trigger' | 'events'>;

/** The spec of a new function with its defaults. @throws Problem `invalid_value` for what its trigger has no use for */
export function specOf(given: NewFunction): FunctionSpec {
  const { trigger, schedule, timeZone = defaultTimeZone, overlap = 'Forbid' } = given;
  const stray = strayFields(trigger).find((field) => given[field] !== undefined);
  if (stray) {
    const other = ofSchedules.some((field) => field === stray) ? 'cron' : 'http';
    throw refusal(stray, `"${stray}" goes with the trigger ${other}; this function has ${trigger}.`);
  }
  if (given.hostname !== undefined) checkHost(given.hostname);
  const { minReplicas, maxReplicas } = functionLimits(given);
  if (minReplicas > maxReplicas) {
    throw refusal('minReplicas', `"minReplicas" is ${minReplicas}, more than "maxReplicas", ${maxReplicas}.`);
  }
  checkSource(given);
  if (trigger !== 'cron') return functionSpec.parse(given);
  if (schedule === undefined) {
    throw refusal('schedule', 'The trigger cron needs a schedule, such as "*/5 * * * *" for every five minutes.');
  }
  parseSchedule(schedule);
  checkTimeZone(timeZone);
  return functionSpec.parse({ ...given, timeZone, overlap });
}

/** What belongs to inline code only. */
export const codeFields = ['code', 'runtime', 'dependencies'] as const;

/** @throws Problem `invalid_value` for anything but an image, or code with its runtime and what it depends on */
function checkSource(given: FunctionSource): void {
  const { image, code, runtime, dependencies = [] } = given;
  if (image !== undefined) {
    checkImage(image);
    const stray = codeFields.find((field) => given[field] !== undefined);
    if (stray) throw refusal(stray, `"${stray}" goes with code; this function is the image ${image}.`);
    return;
  }
  if (code === undefined) throw refusal('code', 'Give the code of the function and its runtime, or an image.');
  if (runtime === undefined) throw refusal('runtime', 'Give the runtime of the code: node or python.');
  parseDependencies(dependencies, runtime);
}

function refusal(field: string, message: string): Problem {
  return new Problem('invalid_value', message, { details: { field } });
}
