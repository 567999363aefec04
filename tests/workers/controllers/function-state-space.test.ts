import t from 'tap';
import type { FunctionDeployment } from '../../../infra/manifests/function.ts';
import type { FunctionResource } from '../../../runtime/contracts/resources/function.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { functionController } from '../../../workers/controllers/function.ts';
import { environmentNamespaceObject, settleDeployments } from '../../support/cluster.ts';
import type { FakeKube } from '../../support/fake-kube.ts';
import { settings } from '../../support/objects.ts';
import { explore, fixedId, type Scenario } from '../../support/state-space.ts';
import { workloadRecords, type WorkloadRows } from '../../support/workload-rows.ts';

interface Records {
  workloads: WorkloadRows;
  /** What the scaler last set, which nobody else may change. */
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
    return [functionController({ kube, clock, events, platformConfig, records: workloadRecords(life, workloads) })];
  },
  steps: [
    create(1, 'first'),
    change({ code: 'second', hostname: 'hello.example.test' }),
    async (kube, records) => {
      const scale = await kube.getScale('shop-prod', 'hello');
      if (scale) await kube.replaceScale(scale, 2);
      records.replicas = 2;
    },
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
  },
};

await explore(t, 'Function', scenario);
