import { useQuery } from '@tanstack/react-query';
import type { JobView } from '../../../../runtime/contracts/api/jobs.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { boundServices, mountedVolumes } from '../environment/object-links.tsx';
import { State } from '../parts/badge.tsx';
import { Command } from '../parts/command.tsx';
import { Facts, type Fact } from '../parts/facts.tsx';
import { Note } from '../parts/note.tsx';
import { Time } from '../parts/time.tsx';
import { jobText } from '../text/jobs.ts';
import { viewQuery } from '../workloads/queries.ts';
import { Schedule } from '../workloads/schedule.tsx';
import { useJob } from './job.tsx';

/** The state, schedule and settings of a job. */
export function JobOverview() {
  const workload = useJob();
  const { place, name } = workload;
  const { data: view } = useQuery(viewQuery(workload));
  if (!view) return null;
  const { status, message, outOfMemory, schedule, overlap, timeZone, nextRunAt } = view;
  return (
    <div className="flex flex-col gap-6">
      {message !== undefined && <Note look={status === 'failed' ? 'bad' : 'warn'}>{message}</Note>}
      {outOfMemory && (
        <Note look="bad">
          {jobText.outOfMemory} <Time at={outOfMemory.at} />: {outOfMemory.message}
        </Note>
      )}
      <Facts facts={factsOf(place, view)} />
      {schedule === undefined && <p className="text-sm">{jobText.manual}</p>}
      {schedule !== undefined && view.suspended && <Note look="warn">{jobText.suspended}</Note>}
      {schedule !== undefined && (
        <Schedule
          {...{ schedule, overlap, timeZone }}
          description={view.scheduleDescription}
          next={nextRunAt === undefined ? [] : [nextRunAt]}
        />
      )}
      <Command command={commandOf('job', 'show', name, ...placeFlags(place))} />
    </div>
  );
}

function factsOf(place: Place, view: JobView): readonly Fact[] {
  const { image, command, retries, timeoutSeconds, historyLimit, memory, cpu, bindings, volumes, lastRun } = view;
  return [
    [jobText.image, image],
    [jobText.command, command && <code>{command.join(' ')}</code>],
    [jobText.retries, retries],
    [jobText.timeout, timeoutSeconds !== undefined && jobText.seconds(timeoutSeconds)],
    [jobText.history, historyLimit],
    [jobText.limits, [memory, cpu && `${cpu} CPU`].filter((limit) => limit !== undefined).join(', ')],
    [jobText.bindings, boundServices(place, bindings)],
    [jobText.volumes, mountedVolumes(place, volumes)],
    [
      jobText.lastRun,
      lastRun && (
        <>
          <State state={lastRun.status} /> <Time at={lastRun.createdAt} />
        </>
      ),
    ],
    [jobText.created, <Time key="created" at={view.createdAt} />],
  ];
}
