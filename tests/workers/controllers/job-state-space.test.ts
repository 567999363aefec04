import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import type { BatchJob } from '../../../infra/manifests/batch.ts';
import { jobSpec, type JobResource } from '../../../runtime/contracts/resources/job.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { WorkloadProjection } from '../../../runtime/records/workloads.ts';
import { jobController } from '../../../workers/controllers/job.ts';
import { endRuns, environmentNamespaceObject } from '../../support/cluster.ts';
import type { FakeKube } from '../../support/fake-kube.ts';
import { settings } from '../../support/objects.ts';
import { explore, fixedId, type Scenario } from '../../support/state-space.ts';

interface Records {
  workloads: Map<string, WorkloadProjection & { deleted: boolean }>;
  /** Run → the uids that it has had: a second one means that it was created twice. */
  jobNames: Map<string, Set<string>>;
}

const place = { apiVersion: 'platform.svc/v1', kind: 'Job', namespace: 'shop-prod', name: 'report' };
const change = (spec: object) => (kube: FakeKube) => kube.mergePatch<JobResource>(place, { spec });
const requests = (...ends: number[]) => ({
  runRequests: ends.map((end) => ({ id: String(end).padStart(10, '0'), at: '2026-01-01T00:00:00Z' })),
});
const create = (id: number) => (kube: FakeKube) =>
  kube.create<JobResource>({
    apiVersion: 'platform.svc/v1',
    kind: 'Job',
    metadata: { name: 'report', namespace: 'shop-prod', labels: { 'platform.svc/id': fixedId(id) } },
    spec: jobSpec.parse({ image: 'registry.test/report:7', schedule: '0 2 * * *', historyLimit: 1 }),
  });

const scenario: Scenario<Records> = {
  begin(kube) {
    kube.seed(environmentNamespaceObject('shop', 'prod'));
    return { workloads: new Map(), jobNames: new Map() };
  },
  controllers(life, { workloads }) {
    const { kube, clock, events } = life;
    return [
      jobController({
        kube,
        clock,
        events,
        platformConfig: () => settings,
        records: {
          project: life.write('project', (workload: WorkloadProjection) => {
            const before = workloads.get(workload.id);
            const after = { ...workload, deleted: before?.deleted ?? false };
            workloads.set(workload.id, after);
            return !isDeepStrictEqual(before, after);
          }),
          projectBindings: () => Promise.resolve(),
          markDeleted: life.write('markDeleted', (id: string) => {
            const row = workloads.get(id);
            if (row) row.deleted = true;
          }),
        },
      }),
    ];
  },
  steps: [
    create(1),
    change(requests(1, 2)),
    change({ image: 'registry.test/report:8', schedule: null, ...requests(3) }),
    (kube) => kube.delete(place),
    create(2),
  ],
  cluster: endRuns,
  outcome: ({ workloads, jobNames }) => ({
    workloads: Object.fromEntries(workloads),
    jobNames: [...jobNames.keys()].sort(),
  }),
  always(kube, { jobNames }) {
    for (const { metadata } of kube.all<BatchJob>(kinds.BatchJob)) {
      const uids = (jobNames.get(metadata.name) ?? new Set()).add(metadata.uid);
      jobNames.set(metadata.name, uids);
      if (uids.size > 1) throw new Error(`the run ${metadata.name} was created twice`);
    }
  },
};

void explore(t, 'Job', scenario);
