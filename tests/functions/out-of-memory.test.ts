import t from 'tap';
import { appToView } from '../../functions/apps/view.ts';
import { functionToView } from '../../functions/functions/view.ts';
import { jobToView } from '../../functions/jobs/view.ts';
import { appView } from '../../runtime/contracts/api/apps.ts';
import { functionView } from '../../runtime/contracts/api/functions.ts';
import { jobView } from '../../runtime/contracts/api/jobs.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { appSpec, type App } from '../../runtime/contracts/resources/app.ts';
import { functionSpec, type FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { jobSpec, type JobResource } from '../../runtime/contracts/resources/job.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import { podLabels, workloadLabels } from '../../runtime/domain/labels.ts';
import { createEventRecorder } from '../../runtime/kube/events.ts';
import { podOomController } from '../../workers/controllers/pod-oom.ts';
import { fakeClock } from '../support/clock.ts';
import { fakeKube } from '../support/fake-kube.ts';
import { silentLog } from '../support/log.ts';
import { fixedId } from '../support/state-space.ts';

const namespace = 'shop-prod';
const environment = { project: 'shop', environment: 'prod', namespace, environmentId: fixedId(2), ready: true };
const killedAt = '2026-11-21T10:00:00Z';
const workloadKinds = ['App', 'Function', 'Job'] as const;
const specs: Record<(typeof workloadKinds)[number], object> = {
  App: appSpec.parse({ image: 'r.test/api:1' }),
  Function: functionSpec.parse({ runtime: 'node', code: 'x' }),
  Job: jobSpec.parse({ image: 'r.test/api:1' }),
};
const views: Record<(typeof workloadKinds)[number], (workload: Stored<KubeObject>) => unknown> = {
  App: (app) => appView.parse(appToView(app as Stored<App>, environment)),
  Function: (object) =>
    functionView.parse(
      functionToView(object as Stored<FunctionResource>, { now: new Date(killedAt), exclusive: false }),
    ),
  Job: (job) => jobView.parse(jobToView(job as Stored<JobResource>, environment, new Date(killedAt))),
};

for (const kind of workloadKinds) {
  t.test(`${kind}: the view shows the last kill for memory, with its limit and the next one to try`, async (t) => {
    const kube = fakeKube();
    const workload = { kind, name: 'api', id: fixedId(1) };
    kube.seed({
      apiVersion: 'platform.svc/v1',
      kind,
      metadata: { name: 'api', namespace, labels: workloadLabels(workload) },
      spec: specs[kind],
      status: { conditions: [] },
    });
    const view = () => {
      const [stored] = kube.all<KubeObject>(kinds[kind]);
      return stored && views[kind](stored);
    };
    t.notHas(view(), 'outOfMemory');
    kube.seed({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'api-1', namespace, labels: podLabels(workload, 'serve') },
      spec: { containers: [{ name: 'app', resources: { limits: { memory: '64Mi' } } }] },
      status: {
        containerStatuses: [
          {
            name: 'app',
            ready: true,
            restartCount: 1,
            lastState: { terminated: { exitCode: 137, reason: 'OOMKilled', finishedAt: killedAt } },
          },
        ],
      },
    });
    const clock = fakeClock();
    const events = createEventRecorder({ kube, component: 'svc-controllers', clock, log: silentLog });
    const [object] = kube.all<Pod>(kinds.Pod);
    const signal = new AbortController().signal;
    await podOomController({ kube, events }).reconcile({ namespace, name: 'api-1', object, signal, log: silentLog });
    t.match(view(), { outOfMemory: { at: killedAt, message: /limit of 64Mi; try 128Mi\.$/ } });
  });
}
