import type { V1CronJob } from '@kubernetes/client-node';
import type { BuiltIn, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kindLabel } from '../../runtime/domain/labels.ts';
import { defaultTimeZone, upcomingTimes } from '../../runtime/domain/schedule.ts';

export type ScheduledJob = BuiltIn<V1CronJob, 'spec'>;

/** A run that is late by more than five minutes is left out (`startingDeadlineSeconds`); a minute more for reports. */
const graceMs = 6 * 60_000;

/** A workload whose last scheduled run did not start. */
interface MissedSchedule {
  namespace: string;
  kind: string;
  name: string;
}

/** Finds runs that did not start in time. */
export interface MissedSchedules {
  /**
   * The workloads that missed the last run of their schedule, without those that are suspended or whose former run has
   * not ended. Runs that were due before a schedule was first seen do not count, since nothing tells when it was set.
   */
  find(jobs: readonly Stored<ScheduledJob>[], now: Date): MissedSchedule[];
}

export function createMissedSchedules(): MissedSchedules {
  /** By object and schedule: the next time at which a run is due and was not judged yet. */
  const expected = new Map<string, { at: number | undefined; missed: number | undefined }>();
  return {
    find(jobs, now) {
      const present = new Set<string>();
      const result = jobs.flatMap(({ metadata, spec, status = {} }): MissedSchedule[] => {
        const { uid, name, namespace = '', labels = {} } = metadata;
        const { schedule, timeZone = defaultTimeZone } = spec;
        const key = `${uid}\n${timeZone}\n${schedule}`;
        if (spec.suspend === true) return [];
        present.add(key);
        const next = (after: number) => upcomingTimes(schedule, timeZone, new Date(after), 1)[0]?.getTime();
        const entry = expected.get(key) ?? { at: next(now.getTime()), missed: undefined };
        expected.set(key, entry);
        const last = status.lastScheduleTime === undefined ? 0 : Date.parse(status.lastScheduleTime);
        if (entry.at !== undefined && now.getTime() - entry.at >= graceMs) {
          // Only the last due run: after an outage of this process, its predecessors do not matter.
          const due = lastBefore(entry.at, now.getTime() - graceMs, next);
          const isRunning = (status.active ?? []).length > 0;
          entry.missed = last < due && !isRunning ? due : undefined;
          entry.at = next(due);
        }
        if (entry.missed !== undefined && last >= entry.missed) entry.missed = undefined;
        return entry.missed === undefined ? [] : [{ namespace, kind: labels[kindLabel] ?? 'Job', name }];
      });
      for (const key of expected.keys()) if (!present.has(key)) expected.delete(key);
      return result;
    },
  };
}

/** The last time of a schedule up to `limit`, from one that is not later. Looks at the last hour only. */
function lastBefore(first: number, limit: number, next: (after: number) => number | undefined): number {
  let due = first;
  const recent = next(limit - 3_600_000);
  if (recent !== undefined && recent > first && recent <= limit) due = recent;
  for (let following = next(due); following !== undefined && following <= limit; following = next(due)) due = following;
  return due;
}
