import t from 'tap';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { appController } from '../../../workers/controllers/app.ts';
import { environmentNamespaceObject, settleDeployments } from '../../support/cluster.ts';
import type { FakeKube } from '../../support/fake-kube.ts';
import { settings } from '../../support/objects.ts';
import { explore, fixedId, type Scenario } from '../../support/state-space.ts';
import { workloadRecords, type WorkloadRows } from '../../support/workload-rows.ts';

interface Records {
  workloads: WorkloadRows;
  /** The first deployment of each app, by app id. */
  accepted: Map<string, string>;
}

const place = { apiVersion: 'platform.svc/v1', kind: 'App', namespace: 'shop-prod', name: 'api' };
const change = (spec: object) => (kube: FakeKube) => kube.mergePatch<App>(place, { spec });
const create = (id: number) => (kube: FakeKube) =>
  kube.create<App>({
    apiVersion: 'platform.svc/v1',
    kind: 'App',
    metadata: { name: 'api', namespace: 'shop-prod', labels: { 'platform.svc/id': fixedId(id) } },
    spec: { image: 'registry.test/api:1', port: 8080, replicas: 2 },
  });
const release = (generation: number, image: string) => ({
  release: { generation, deploymentId: fixedId(100 + generation), image },
});

interface Route extends KubeObject {
  spec: { routes: { match: string; middlewares?: { name: string }[] }[] };
}

const demandsKey = ({ spec }: Route) =>
  (spec.routes[0]?.middlewares ?? []).some(({ name }) => name.startsWith('gate-'));

/** Whether the route of an app demands a key, as a client of the ingress sees it. */
function isGated(kube: FakeKube): boolean {
  return kube.all<Route>(kinds.IngressRoute).some(demandsKey);
}

/** A route must always have the Middlewares that it names and a claim on each of its hosts. */
function checkRoutes(kube: FakeKube): void {
  const [middlewares, hosts] = [kinds.Middleware, kinds.HostName].map(
    (kind) => new Set(kube.all(kind).map(({ metadata }) => metadata.name)),
  );
  for (const { spec } of kube.all<Route>(kinds.IngressRoute)) {
    const [rule] = spec.routes;
    const missing = [
      ...(rule?.middlewares ?? []).map(({ name }) => name).filter((name) => !middlewares?.has(name)),
      ...[...(rule?.match ?? '').matchAll(/`([^`]+)`/g)]
        .map(([, host = '']) => host)
        .filter((host) => !hosts?.has(host)),
    ];
    if (missing.length > 0) throw new Error(`the route names what is not there: ${missing.join(', ')}`);
  }
}

const scenario: Scenario<Records> = {
  begin(kube) {
    kube.seed(environmentNamespaceObject('shop', 'prod'));
    return { workloads: new Map(), accepted: new Map() };
  },
  controllers(life, { workloads, accepted }) {
    const { kube, clock, events, write } = life;
    return [
      appController({
        kube,
        clock,
        events,
        platformConfig: () => ({ ...settings, ingressAddress: 'http://traefik.edge.svc' }),
        // A life's client fails once that life has ended, so the ingress's answer is derived from the objects
        // themselves.
        probeGate: async () =>
          (await kube.list<Route>(kinds.IngressRoute)).items.some(demandsKey)
            ? { kind: 'refused' }
            : { kind: 'open', status: 404 },
        records: {
          ...workloadRecords(life, workloads),
          deployEdited: async () => false,
          neededEnvironments: async () => [],
          projectBindings: () => Promise.resolve(),
          projectGit: () => Promise.resolve(),
          deployFirst: write('deployFirst', (id: string, image: string) => {
            if (accepted.has(id)) return false;
            accepted.set(id, image);
            return true;
          }),
        },
      }),
    ];
  },
  steps: [
    create(1),
    change(release(2, 'registry.test/api:2')),
    change({ gate: { enabled: true } }),
    change({ extraHosts: ['a.example.test', 'b.example.test'], security: { headers: true } }),
    change({ gate: { enabled: false }, hostname: 'api.example.test' }),
    change({ extraHosts: ['b.example.test'], security: { headers: false } }),
    change({ gate: { enabled: true } }),
    (kube) => kube.delete(place),
    create(2),
  ],
  async cluster(kube) {
    await settleDeployments(kube);
    // The rollout step of an app's first deployment.
    for (const app of kube.all<App>(kinds.App)) {
      const waiting = app.status?.phase === 'pending' && app.status.observedGeneration === app.metadata.generation;
      if (waiting && !app.spec.release) await change(release(1, app.spec.image))(kube);
    }
  },
  outcome: ({ workloads, accepted }) => [Object.fromEntries(workloads), Object.fromEntries(accepted)],
  always(kube, { workloads }) {
    checkRoutes(kube);
    const gatedRow = [...workloads.values()].some(({ gated, deleted }) => gated && !deleted);
    if (isGated(kube) && !gatedRow) throw new Error('the route asks checkers that do not know the app');
    if (kube.all(kinds.Deployment).length > 0 && kube.all(kinds.WorkloadName).length === 0) {
      throw new Error('something runs under a free name');
    }
  },
};

await explore(t, 'App', scenario);
