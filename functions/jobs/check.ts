import type { JobSpec } from '../../runtime/contracts/resources/job.ts';
import { checkLimits } from '../../runtime/domain/quantity.ts';
import { checkTimeZone, parseSchedule } from '../../runtime/domain/schedule.ts';

type Checked = { [Field in 'memory' | 'cpu' | 'schedule' | 'timeZone']?: JobSpec[Field] | undefined };

/** Checks the parts of a job that a schema cannot check. @throws Problem `invalid_value` */
export function checkJob({ memory, cpu, schedule, timeZone }: Checked): void {
  checkLimits({ memory, cpu });
  if (schedule !== undefined) parseSchedule(schedule);
  if (timeZone !== undefined) checkTimeZone(timeZone);
}
