import type { JobSpec } from '../../runtime/contracts/resources/job.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { checkLimits } from '../../runtime/domain/quantity.ts';
import { checkTimeZone, parseSchedule } from '../../runtime/domain/schedule.ts';

type Checked = { [Field in 'env' | 'memory' | 'cpu' | 'schedule' | 'timeZone']?: JobSpec[Field] | undefined };

/** Checks the parts of a job that a schema cannot check. @throws Problem `invalid_value` */
export function checkJob({ env = [], memory, cpu, schedule, timeZone }: Checked): void {
  checkLimits({ memory, cpu });
  if (schedule !== undefined) parseSchedule(schedule);
  if (timeZone !== undefined) checkTimeZone(timeZone);
  const invalid = env.find(({ name }) => !/^[A-Za-z_][A-Za-z0-9_]{0,252}$/.test(name));
  if (!invalid) return;
  throw new Problem(
    'invalid_value',
    `"${invalid.name}" is not a valid variable name: use letters, digits and underscores, starting with a letter or underscore.`,
    { details: { field: 'env' } },
  );
}
