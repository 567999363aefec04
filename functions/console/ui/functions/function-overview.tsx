import { useQuery } from '@tanstack/react-query';
import type { FunctionView } from '../../../../runtime/contracts/api/functions.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { boundServices, mountedVolumes } from '../environment/object-links.tsx';
import { State } from '../parts/badge.tsx';
import { Command } from '../parts/command.tsx';
import { Facts, type Fact } from '../parts/facts.tsx';
import { Note } from '../parts/note.tsx';
import { linkLook } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { functionText } from '../text/functions.ts';
import { viewQuery } from '../workloads/queries.ts';
import { Pods } from '../workloads/pods.tsx';
import { Schedule } from '../workloads/schedule.tsx';
import { useFunction } from './function.tsx';

const words = functionText.overview;

/** The state, trigger, schedule and settings of a function. */
export function FunctionOverview() {
  const workload = useFunction();
  const { place, name } = workload;
  const { data: view } = useQuery(viewQuery(workload));
  const mayDeploy = useMay(place.project, 'deployer');
  if (!view) return null;
  const { status, message, outOfMemory, schedule, overlap = 'Forbid', timeZone = 'Etc/UTC' } = view;
  return (
    <div className="flex flex-col gap-6">
      {message !== undefined && <Note look={status === 'failed' ? 'bad' : 'warn'}>{message}</Note>}
      {view.gate === 'applying' && <Note look="warn">{words.notProtected}</Note>}
      {view.pendingRestart && <Note look="warn">{words.pending}</Note>}
      {outOfMemory && (
        <Note look="bad">
          {words.outOfMemory} <Time at={outOfMemory.at} />: {outOfMemory.message}
        </Note>
      )}
      {view.updating && status !== 'failed' && <Note look="warn">{words.updating}</Note>}
      <Facts facts={factsOf(place, view)} />
      {view.trigger !== 'cron' && <Pods />}
      {schedule !== undefined && (
        <Schedule
          {...{ schedule, overlap, timeZone }}
          description={view.scheduleDescription}
          next={view.nextRuns ?? []}
        />
      )}
      <Command command={commandOf('function', 'show', name, ...placeFlags(place))} />
      {mayDeploy && view.trigger !== 'cron' && (
        <Command command={commandOf('function', 'restart', name, ...placeFlags(place))} />
      )}
    </div>
  );
}

function factsOf(place: Place, view: FunctionView): readonly Fact[] {
  const { url, trigger, events, runtime, image, dependencies, memory, cpu, volumes, bindings, lastRun, gate } = view;
  const limits = [memory, cpu && `${cpu} CPU`].filter((limit) => limit !== undefined).join(', ');
  const calledBy = [
    words.triggers[trigger],
    ...(events && events.type !== trigger ? [words.triggers[events.type]] : []),
  ];
  // A cron function has no pods between its runs, and none of these settings.
  const served: readonly Fact[] =
    trigger === 'cron'
      ? []
      : [
          [words.replicas, words.replicasOf(view.readyReplicas, view.replicas, view.minReplicas, view.maxReplicas)],
          [words.idle, words.seconds(view.idleTimeoutSeconds)],
          [words.concurrency, trigger === 'http' && view.concurrency],
          [words.rate, trigger === 'http' && view.targetRate],
          [words.timeout, words.seconds(view.requestTimeoutSeconds)],
          [words.port, view.port],
        ];
  return [
    [words.url, url !== undefined && <Address url={url} />],
    [words.trigger, calledBy.join(', ')],
    [words.source, events?.source],
    [words.runtime, runtime && words.runtimes[runtime]],
    [words.image, image],
    [words.dependencies, dependencies?.join(', ')],
    [words.gate, gate && words.gates[gate]],
    ...served,
    [words.limits, limits],
    [words.bindings, boundServices(place, bindings)],
    [words.volumes, mountedVolumes(place, volumes)],
    [
      words.lastRun,
      lastRun && (
        <>
          <State state={lastRun.status} /> <Time at={lastRun.createdAt} />
        </>
      ),
    ],
    [words.created, <Time key="created" at={view.createdAt} />],
  ];
}

/** A link only for the web: no other kind of address runs something in this page. */
function Address({ url }: { url: string }) {
  if (!/^https?:\/\//.test(url)) return url;
  return (
    <a href={url} target="_blank" rel="noreferrer" className={linkLook}>
      {url}
    </a>
  );
}
