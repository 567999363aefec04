import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { AppView } from '../../../../runtime/contracts/api/apps.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { appQuery, type Place } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { boundServices, mountedVolumes } from '../environment/object-links.tsx';
import { Command } from '../parts/command.tsx';
import { Facts, type Fact } from '../parts/facts.tsx';
import { Note } from '../parts/note.tsx';
import { linkLook } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { appText } from '../text/apps.ts';
import { Pods } from '../workloads/pods.tsx';
import { appRoute } from './app.tsx';

const words = appText.app;

/** The state, settings and pods of an app. */
export function AppOverview() {
  const { app: name, ...place } = useParams({ from: appRoute });
  const { data: app } = useQuery(appQuery(place, name));
  const mayDeploy = useMay(place.project, 'deployer');
  if (!app) return null;
  return (
    <div className="flex flex-col gap-4">
      {app.status === 'failed' && app.message !== undefined && <Note look="bad">{app.message}</Note>}
      {app.status !== 'failed' && app.message !== undefined && <Note look="warn">{app.message}</Note>}
      {app.gate === 'applying' && <Note look="warn">{words.notProtected}</Note>}
      {app.pendingRestart && <Note look="warn">{words.pending}</Note>}
      {app.outOfMemory && (
        <Note look="bad">
          {words.outOfMemory} <Time at={app.outOfMemory.at} />: {app.outOfMemory.message}
        </Note>
      )}
      <Facts facts={factsOf(place, app)} />
      <Pods />
      <Command command={commandOf('app', 'show', name, ...placeFlags(place))} />
      {mayDeploy && <Command command={commandOf('app', 'restart', name, ...placeFlags(place))} />}
    </div>
  );
}

function factsOf(place: Place, app: AppView): readonly Fact[] {
  const { url, image, rollout, healthPath, memory, cpu, extraHosts, volumes, bindings } = app;
  const replicas = `${app.readyReplicas}/${app.replicas}`;
  const limits = [memory, cpu && `${cpu} CPU`].filter((limit) => limit !== undefined).join(', ');
  return [
    [words.url, url !== undefined && <Address url={url} />],
    [words.image, image === '' ? words.noImage : image],
    [words.replicas, rollout ? `${replicas}; ${words.rollout(rollout.revision, rollout.readyReplicas)}` : replicas],
    [words.gate, words.gates[app.gate]],
    [words.port, app.port],
    [words.health, healthPath],
    [words.limits, limits],
    [words.hosts, extraHosts.join(', ')],
    [words.volumes, mountedVolumes(place, volumes)],
    [words.bindings, boundServices(place, bindings)],
    [words.rollback, app.autoRollback ? words.on : words.off],
    [words.created, <Time key="created" at={app.createdAt} />],
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
