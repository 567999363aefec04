import cronstrue from 'cronstrue';
import { parseSchedule, scheduleFields } from './schedule.ts';

/** Longer schedules than the API accepts, which kubectl can set, are not described. */
const lengthMax = 200;

/**
 * A schedule in words, such as `At 02:00, only on Monday`, without its time zone. Undefined for a schedule that was set
 * with kubectl and is not valid here.
 */
export function describeSchedule(expression: string): string | undefined {
  if (expression.length > lengthMax) return undefined;
  try {
    parseSchedule(expression);
    return cronstrue.toString(scheduleFields(expression).map(plainField).join(' '), { use24HourTimeFormat: true });
  } catch {
    return undefined;
  }
}

/** A field in the syntax that cronstrue reads as Kubernetes does: `?` is `*`, and one wildcard leaves a list open. */
function plainField(text: string): string {
  const ranges = text.replaceAll('?', '*').split(',');
  return ranges.some((range) => /^\*(\/0*1)?$/.test(range)) ? '*' : ranges.join(',');
}
