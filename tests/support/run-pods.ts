import type { Pod } from '../../runtime/contracts/pod.ts';
import type { App, AppRun } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { isKubeError } from '../../runtime/kube/kube-client.ts';
import type { PodSessions } from './pod-sessions.ts';

/** What stands in for the App controller. */
interface RunPods {
  /** The requests that it has seen. */
  requests: NonNullable<App['spec']['runRequests']>;
  /** The ids of the runs that it was asked to stop. */
  stops: string[];
  /** The names of the pods of runs that exist. */
  pods: () => Promise<string[]>;
}

const lookMs = 20;

/** The report of a run whose pod has started. */
const started = (name: string): AppRun => ({
  name,
  trigger: 'manual',
  state: 'running',
  command: [],
  createdAt: '2026-01-01T00:00:00Z',
});

/**
 * Gives an app a release, and does what its controller does for runs: starts the pods of requested ones, and deletes those
 * to stop.
 * @param report the report of a run that has no pod; undefined starts one
 */
export async function startRunPods(
  t: { teardown(end: () => unknown): void },
  { kube, pod }: PodSessions,
  app: { id: string; name: string; project?: string },
  report: (run: string) => AppRun | undefined = () => undefined,
): Promise<RunPods> {
  const { id, name, project = 'shop' } = app;
  const namespace = `${project}-prod`;
  const ref = { apiVersion: kinds.App.apiVersion, kind: 'App', namespace, name };
  const release = { generation: 1, deploymentId: newId(), image: 'r/api:1' };
  await kube.mergePatch<App>(ref, { spec: { release } });
  const requests: RunPods['requests'] = [];
  const stops: string[] = [];

  const look = async () => {
    const current = await kube.get<App>(kinds.App, name, namespace);
    const { runRequests = [], runStops = [] } = current?.spec ?? ({} as App['spec']);
    if (!current || runRequests.length + runStops.length === 0) return;
    const reports = runRequests.map((request) => ({ request, reported: report(`${name}-${request.id}`) }));
    const runs = [
      ...reports.map(({ request, reported }) => reported ?? started(`${name}-${request.id}`)),
      ...(current.status?.runs ?? []),
    ].filter((run) => !runStops.some((stop) => run.name === `${name}-${stop}`));
    // In the order of the controller, so that a run is always in the status or in the requests, and with the version that was
    // read, so that no request is removed unseen.
    const after = await kube.replaceStatus({ ...current, status: { ...current.status, runs } });
    const { runRequests: _requests, runStops: _stops, ...settings } = after.spec;
    await kube.replace({ ...after, spec: settings });
    for (const { request, reported } of reports) {
      requests.push(request);
      const run = `${name}-${request.id}`;
      if (!reported)
        await pod({ kind: 'App', name, id, project }, { name: `${run}-x`, container: 'app', role: 'run', run });
    }
    for (const stop of runStops) {
      stops.push(stop);
      const run = { apiVersion: 'v1', kind: 'Pod', namespace, name: `${name}-${stop}-x` };
      await kube.delete(run, { gracePeriodSeconds: 0 });
    }
  };
  const stopped = new AbortController();
  const watch = async () => {
    while (!stopped.signal.aborted) {
      await look().catch((error: unknown) => {
        if (!isKubeError(error, 409)) throw error;
      });
      await new Promise((resolve) => setTimeout(resolve, lookMs));
    }
  };
  const watching = watch();
  t.teardown(async () => {
    stopped.abort();
    await watching;
  });
  return {
    requests,
    stops,
    async pods() {
      const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector: 'platform.svc/role=run' });
      return items.map(({ metadata }) => metadata.name);
    },
  };
}
