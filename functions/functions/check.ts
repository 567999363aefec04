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

const requestFields = ['hostname', 'concurrency', 'targetRate'] as const;
const servingFields = ['port', 'idleTimeoutSeconds', 'requestTimeoutSeconds', 'minReplicas', 'maxReplicas'] as const;
const scheduleFields = ['schedule', 'timeZone', 'overlap'] as const;

/** The fields that a function with this trigger must not set. Pure. */
export function unusedFields(trigger: FunctionSpec['trigger']) {
  if (trigger === 'cron') return [...requestFields, ...servingFields];
  return trigger === 'http' ? scheduleFields : [...requestFields, ...scheduleFields];
}

/** @throws Problem `invalid_value` for a function without a public route */
export function checkRoute({
  metadata: { name },
  spec: { trigger },
}: Pick<FunctionResource, 'metadata' | 'spec'>): void {
  if (trigger === 'http') return;
  throw invalid(
    'trigger',
    `The function "${name}" has the trigger ${trigger} and no public route, so it cannot have a gate.`,
  );
}

/** @throws Problem `invalid_value` for a function that does not run on a schedule */
export function checkCron({
  metadata: { name },
  spec: { trigger },
}: Pick<FunctionResource, 'metadata' | 'spec'>): void {
  if (trigger === 'cron') return;
  const hint = trigger === 'http' ? 'Call it at its URL' : `List its events: svc function events ${name}`;
  throw invalid(
    'trigger',
    `The function "${name}" has the trigger ${trigger}, and only cron functions have runs. ${hint}.`,
  );
}

/** A function in a request, with variables and security settings in the form of the spec. */
export type NewFunction = Omit<FunctionCreate, 'name' | 'env' | 'security' | 'trigger' | 'events'> &
  Pick<FunctionSpec, 'env' | 'security' | 'trigger' | 'events'>;

/** The spec of a function with its defaults. @throws Problem `invalid_value` */
export function specOf(request: NewFunction): FunctionSpec {
  const { trigger, schedule, timeZone = defaultTimeZone, overlap = 'Forbid' } = request;
  const unused = unusedFields(trigger).find((field) => request[field] !== undefined);
  if (unused) {
    const other = scheduleFields.some((field) => field === unused) ? 'cron' : 'http';
    throw invalid(unused, `"${unused}" requires the trigger ${other}; this function has ${trigger}.`);
  }
  if (request.hostname !== undefined) checkHost(request.hostname);
  const { minReplicas, maxReplicas } = functionLimits(request);
  if (minReplicas > maxReplicas) {
    throw invalid('minReplicas', `"minReplicas" (${minReplicas}) is greater than "maxReplicas" (${maxReplicas}).`);
  }
  checkSource(request);
  if (trigger !== 'cron') return functionSpec.parse(request);
  if (schedule === undefined) {
    throw invalid('schedule', 'The trigger cron requires a schedule, such as "*/5 * * * *" for every five minutes.');
  }
  parseSchedule(schedule);
  checkTimeZone(timeZone);
  return functionSpec.parse({ ...request, timeZone, overlap });
}

/** The fields that require inline code. */
export const codeFields = ['code', 'runtime', 'dependencies'] as const;

/** @throws Problem `invalid_value` unless there is either an image, or code with its runtime */
function checkSource(source: FunctionSource): void {
  const { image, code, runtime, dependencies = [] } = source;
  if (image !== undefined) {
    checkImage(image);
    const unused = codeFields.find((field) => source[field] !== undefined);
    if (unused) throw invalid(unused, `"${unused}" requires code; this function runs the image ${image}.`);
    return;
  }
  if (code === undefined) throw invalid('code', 'Set the code of the function and its runtime, or an image.');
  if (runtime === undefined) throw invalid('runtime', 'Set the runtime of the code: node or python.');
  parseDependencies(dependencies, runtime);
}

function invalid(field: string, message: string): Problem {
  return new Problem('invalid_value', message, { details: { field } });
}
