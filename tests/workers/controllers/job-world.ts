import type { BatchJob } from '../../../infra/manifests/batch.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import { jobSpec, type JobResource } from '../../../runtime/contracts/resources/job.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { podLabels } from '../../../runtime/domain/labels.ts';
import type { DesiredBinding } from '../../../runtime/records/bindings.ts';
import { jobController } from '../../../workers/controllers/job.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { environmentId, settings } from '../../support/objects.ts';

export const namespace = 'shop-prod';
export const id = '019a0000-0000-7000-8000-0000000000a1';
export const ref = { apiVersion: 'platform.svc/v1', kind: 'Job', namespace, name: 'report' };
export const workload = { kind: 'Job' as const, name: 'report', id };
const request = (end: number) => ({
  id: String(end).padStart(10, '0'),
  at: '2026-11-21T12:00:00Z',
  by: 'ada@svc.test',
});

/** One job of an environment, and its controller. */
export function jobWorld(spec: object = {}) {
  const clock = fakeClock();
  const kube = fakeKube();
  const home = {
    'platform.svc/project': 'shop',
    'platform.svc/environment': 'prod',
    'platform.svc/environment-id': environmentId,
  };
  kube.seed({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels: home } });
  kube.seed({
    ...ref,
    metadata: { name: 'report', namespace, labels: { 'platform.svc/id': id } },
    spec: jobSpec.parse({ image: 'registry.test/report:7', ...spec }),
  });
  const projected: unknown[] = [];
  const deleted: string[] = [];
  const bound: [string, readonly DesiredBinding[]][] = [];
  const warnings: string[] = [];
  const controller = jobController({
    kube,
    clock,
    platformConfig: () => settings,
    records: {
      project: (row) => Promise.resolve(void projected.push(row)),
      markDeleted: (row) => Promise.resolve(void deleted.push(row)),
      projectBindings: (row, bindings) => Promise.resolve(void bound.push([row, bindings])),
    },
    events: { record: (_, { message }) => Promise.resolve(void warnings.push(message)) },
  });
  const job = () => {
    const [object] = kube.all<JobResource>(kinds.Job);
    if (!object) throw new Error('there is no job');
    return object;
  };
  const reconcile = () =>
    controller.reconcile({
      namespace,
      name: 'report',
      object: kube.all<JobResource>(kinds.Job)[0],
      log: silentLog,
      signal: new AbortController().signal,
    });
  const runs = () => kube.all<BatchJob>(kinds.BatchJob);
  /** Reports a run as the Job controller does. */
  const settle = async (name: string, status: BatchJob['status']) => {
    const run = runs().find(({ metadata }) => metadata.name === name);
    if (run) await kube.replaceStatus<BatchJob>({ ...run, ...(status && { status }) });
  };
  const end = (name: string, type: 'Complete' | 'Failed', at: Date, more: object = {}) =>
    settle(name, {
      startTime: at.toISOString(),
      ...(type === 'Complete' && { completionTime: at.toISOString() }),
      conditions: [{ type, status: 'True', lastTransitionTime: at.toISOString(), ...more }],
    });
  const ask = (...ends: number[]) => kube.mergePatch(ref, { spec: { runRequests: ends.map(request) } });
  const seedPod = (run: string, status: Pod['status']) =>
    kube.seed({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: `${run}-x1`,
        namespace,
        labels: { ...podLabels(workload, 'run'), 'batch.kubernetes.io/job-name': run },
      },
      spec: { containers: [{ name: 'job' }] },
      ...(status && { status }),
    });
  const writes = () => kube.calls.filter(({ verb }) => verb !== 'get' && verb !== 'list').length;
  return {
    clock,
    kube,
    controller,
    job,
    reconcile,
    runs,
    settle,
    end,
    ask,
    seedPod,
    writes,
    projected,
    deleted,
    bound,
    warnings,
  };
}
