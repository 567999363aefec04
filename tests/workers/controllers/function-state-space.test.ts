import t from 'tap';
import type { BatchJob } from '../../../infra/manifests/batch.ts';
import type { FunctionDeployment } from '../../../infra/manifests/function.ts';
import type { FunctionResource } from '../../../runtime/contracts/resources/function.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { functionController } from '../../../workers/controllers/function.ts';
import { startSettings } from '../../../workers/controllers/function-settings.ts';
import { endRuns, environmentNamespaceObject, settleDeployments } from '../../support/cluster.ts';
import type { FakeKube } from '../../support/fake-kube.ts';
import { settings } from '../../support/objects.ts';
import { explore, fixedId, type Scenario } from '../../support/state-space.ts';
import { workloadRecords, type WorkloadRows } from '../../support/workload-rows.ts';

interface Records {
  workloads: WorkloadRows;
  /** What the scaler set last, which no other writer may change. */
  replicas: number;
}

const place = { apiVersion: 'platform.svc/v1', kind: 'Function', namespace: 'shop-prod', name: 'hello' };
const change = (spec: object) => (kube: FakeKube) => kube.mergePatch<FunctionResource>(place, { spec });
const create = (id: number, code: string) => (kube: FakeKube) =>
  kube.create<FunctionResource>({
    apiVersion: 'platform.svc/v1',
    kind: 'Function',
    metadata: { name: 'hello', namespace: 'shop-prod', labels: { 'platform.svc/id': fixedId(id) } },
    spec: { runtime: 'node', code, trigger: 'http', port: 8080, idleTimeoutSeconds: 300 },
  });

const scenario: Scenario<Records> = {
  begin(kube) {
    kube.seed(environmentNamespaceObject('shop', 'prod'), {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'svc-system' },
    });
    return { workloads: new Map(), replicas: 0 };
  },
  controllers(life, { workloads }) {
    const { kube, clock, events } = life;
    const platformConfig = () => settings;
    const probeGate = async () => ({ kind: 'refused' }) as const;
    const records = {
      ...workloadRecords(life, workloads),
      projectBindings: () => Promise.resolve(),
      projectEvents: () => Promise.resolve(undefined),
    };
    return [functionController({ kube, clock, events, platformConfig, probeGate, records })];
  },
  steps: [
    create(1, 'first'),
    change({ code: 'second', hostname: 'hello.example.test', env: [{ name: 'A', value: '1' }] }),
    async (kube, records) => {
      const scale = await kube.getScale('shop-prod', 'hello');
      if (scale) await kube.replaceScale(scale, 2);
      records.replicas = 2;
    },
    change({ env: [{ name: 'A', value: '2' }] }),
    change({ trigger: 'redis', events: { type: 'redis', source: 'cache', list: 'jobs' } }),
    change({ trigger: 'http', restartedAt: '2026-01-01T00:00:00Z' }),
    (kube, records) => {
      records.replicas = 0;
      return kube.delete(place);
    },
    create(2, 'third'),
  ],
  cluster: settleDeployments,
  outcome: ({ workloads }) => Object.fromEntries(workloads),
  always(kube, { replicas }) {
    const [deployment] = kube.all<FunctionDeployment>(kinds.Deployment);
    if (deployment && deployment.spec.replicas < replicas) throw new Error('the scaler’s count was overwritten');
    if (deployment && kube.all(kinds.WorkloadName).length === 0) throw new Error('something runs under a free name');
    if (kube.all(kinds.IngressRoute).length > 0 && kube.all(kinds.HostName).length === 0) {
      throw new Error('a route leads from a free host');
    }
    const template = deployment?.spec.template;
    const { envSecret } = template ? startSettings(template) : {};
    if (envSecret !== undefined && !kube.all(kinds.Secret).some(({ metadata }) => metadata.name === envSecret)) {
      throw new Error('pods would not find their environment');
    }
  },
};

await explore(t, 'Function', scenario);

interface CronRecords {
  workloads: WorkloadRows;
  /** Run → the uids that it has had: a second one means that it was created twice. */
  createdNames: Map<string, Set<string>>;
}

const requests = (...ends: number[]) => ({
  runRequests: ends.map((end) => ({ id: String(end).padStart(10, '0'), at: '2026-01-01T00:00:00Z' })),
});

const cronScenario: Scenario<CronRecords> = {
  begin(kube) {
    scenario.begin(kube);
    return { workloads: new Map(), createdNames: new Map() };
  },
  controllers(life, { workloads }) {
    return scenario.controllers(life, { workloads, replicas: 0 });
  },
  steps: [
    create(1, 'first'),
    change({ trigger: 'cron', schedule: '0 2 * * *' }),
    change(requests(1)),
    change({ code: 'second', env: [{ name: 'A', value: '1' }], ...requests(2) }),
    change({ trigger: 'http', schedule: null, env: [{ name: 'A', value: '2' }] }),
    change({ trigger: 'cron', schedule: '0 3 * * *' }),
    (kube) => kube.delete(place),
  ],
  async cluster(kube) {
    await settleDeployments(kube);
    await endRuns(kube);
  },
  outcome: ({ workloads, createdNames }) => ({
    workloads: Object.fromEntries(workloads),
    createdNames: [...createdNames.keys()].sort(),
  }),
  always(kube, { createdNames }) {
    scenario.always?.(kube, { workloads: new Map(), replicas: 0 });
    for (const { metadata } of kube.all<BatchJob>(kinds.BatchJob)) {
      const uids = (createdNames.get(metadata.name) ?? new Set()).add(metadata.uid);
      createdNames.set(metadata.name, uids);
      if (uids.size > 1) throw new Error(`the run ${metadata.name} was created twice`);
    }
  },
};

await explore(t, 'cron Function', cronScenario);
