import { parseArgs } from 'node:util';
import { homeFolder } from '../../infra/local/home.ts';
import { readRunInfo } from '../../infra/run-info.ts';
import { systemNamespace } from '../../runtime/domain/labels.ts';
import { createKubeClient } from '../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../runtime/kube/kubeconfig.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { uniqueName } from '../support/platform.ts';
import {
  explain,
  measureChanges,
  measureIdle,
  none,
  printCreation,
  quietMs,
  say,
  settled,
  untilComplete,
  type Subject,
} from './controllers/measures.ts';
import { samplePod } from './controllers/process-metrics.ts';
import {
  createProject,
  createWorkloads,
  removeProject,
  watchObjects,
  type Counts,
  type Watched,
} from './controllers/workloads.ts';
import { printFigure } from './figure.ts';

/**
 * The controllers with many workloads on the real API server, none of which has a pod: the time until all of the
 * platform's own objects are written, until a new leader has settled, the requests of an idle one, and the time of a
 * change. Needs a running platform (`npm start`) that is otherwise unused. `--functions <n>` (1,000), `--apps <n>`
 * (200), `--idle-seconds <n>` (120), `--changes <n>` (200), `--keep`.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      functions: { type: 'string', default: '1000' },
      apps: { type: 'string', default: '200' },
      'idle-seconds': { type: 'string', default: '120' },
      changes: { type: 'string', default: '200' },
      keep: { type: 'boolean', default: false },
    },
  });
  const counts = { functions: Number(values.functions), apps: Number(values.apps) };
  const kube = createKubeClient(loadKubeConfig(readRunInfo(homeFolder(process.env)).kubeconfig));
  const subject: Subject = { prefix: 'controllers', sample: () => samplePod(kube) };
  const project = uniqueName('bench');
  try {
    await createProject(kube, project);
    const namespace = `${project}-prod`;
    const watched = await watchObjects(kube, namespace);
    try {
      await creation(kube, subject, project, counts, watched);
      await measureIdle(subject, Number(values['idle-seconds']), { memory: { operator: '<', value: 300 } });
      await restart(kube, subject, counts);
      await measureChanges(kube, subject, watched.deployments, {
        count: Number(values.changes),
        change: (number) => {
          const name = `${project}-f${(number * 7919) % counts.functions}`;
          return { ref: { apiVersion: 'platform.svc/v1', kind: 'Function', namespace, name }, port: 9000 + number };
        },
      });
    } finally {
      await watched.stop();
    }
  } finally {
    if (!values.keep) await removeProject(kube, project);
    await kube.close();
  }
}

async function creation(
  kube: KubeClient,
  subject: Subject,
  project: string,
  counts: Counts,
  watched: Watched,
): Promise<void> {
  const startedAt = performance.now();
  const before = await settled(subject);
  const creating = createWorkloads(kube, project, counts).then(() => performance.now() - startedAt);
  await untilComplete(() => watched.missing(counts));
  const seconds = (performance.now() - startedAt) / 1000;
  printFigure({ name: 'controllers.created.accepted', value: (await creating) / 1000, unit: 's' });
  printFigure({ name: 'controllers.created.written', value: seconds, unit: 's', target: { operator: '<', value: 90 } });
  printCreation(subject, before, await settled(subject), counts.functions + counts.apps);
}

async function restart(kube: KubeClient, subject: Subject, counts: Counts): Promise<void> {
  const { pod } = await settled(subject);
  say('a new leader');
  await kube.delete({ apiVersion: 'v1', kind: 'Pod', namespace: systemNamespace, name: pod });
  const workloads = counts.functions + counts.apps;
  const after = await settled(subject, (now) => now.pod !== pod && now.passes >= workloads);
  const seconds = (after.ageMs - quietMs) / 1000;
  printFigure({ name: 'controllers.restart.settled', value: seconds, unit: 's', target: { operator: '<', value: 15 } });
  printFigure({ name: 'controllers.restart.writes', value: after.writes, unit: 'writes', target: none });
  explain(undefined, after);
}
