import t from 'tap';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { settleDeployments } from '../../support/cluster.ts';
import { runningControllers } from '../../support/every-controller.ts';
import { fixedId } from '../../support/state-space.ts';

const namespace = 'shop-prod';
const release = { generation: 1, deploymentId: fixedId(9), image: 'registry.test/api:1' };
const appSpec = (replicas: number) => ({ image: 'registry.test/api:1', port: 8080, replicas, release });
const functionSpec = (minReplicas: number) => ({
  runtime: 'node',
  code: 'x',
  trigger: 'http',
  port: 8080,
  idleTimeoutSeconds: 300,
  minReplicas,
});
const refOf = (kind: string, name: string) => ({ apiVersion: 'platform.svc/v1', kind, namespace, name });

/** Every controller with the workloads, which run. */
async function world(test: { teardown(end: () => unknown): void }, workloads: [string, string, object][]) {
  const { clock, kube } = await runningControllers(test);
  for (const [kind, name, spec] of workloads) {
    await kube.create({ apiVersion: 'platform.svc/v1', kind, metadata: { namespace, name }, spec });
  }
  const settle = async () => {
    for (let second = 0; second < 30; second++) {
      await clock.advance(1_000);
      await settleDeployments(kube);
    }
  };
  await settle();
  const budgets = () => kube.all(kinds.PodDisruptionBudget).map(({ metadata }) => metadata.name);
  const change = async (kind: string, name: string, spec: object) => {
    await kube.mergePatch(refOf(kind, name), { spec });
    await settle();
  };
  /** The requests about budgets, without those of the watch. */
  const requests = () =>
    kube.calls.flatMap(({ verb, kind, name }) =>
      kind === 'PodDisruptionBudget' && verb !== 'list' ? [`${verb} ${name}`] : [],
    );
  return { kube, settle, budgets, change, requests };
}

t.test('apps and functions that always have several pods have a disruption budget', async (t) => {
  const { kube, settle, budgets, change, requests } = await world(t, [
    ['App', 'api', appSpec(2)],
    ['App', 'web', appSpec(1)],
    ['Function', 'hello', functionSpec(2)],
    ['Function', 'list', functionSpec(1)],
  ]);
  t.same(budgets().sort(), ['api', 'hello']);
  t.same(requests().sort(), ['create api', 'create hello'], 'the others cost no request');
  const api = await kube.get(kinds.PodDisruptionBudget, 'api', namespace);
  t.same(api?.spec, {
    maxUnavailable: 1,
    selector: { matchLabels: { app: 'api', 'platform.svc/kind': 'App', 'platform.svc/role': 'serve' } },
    unhealthyPodEvictionPolicy: 'AlwaysAllow',
  });
  t.match(api?.metadata.ownerReferences, [{ kind: 'App', name: 'api', controller: true }]);

  await kube.delete({ ...kinds.PodDisruptionBudget, namespace, name: 'api' });
  await settle();
  t.same(budgets().sort(), ['api', 'hello'], 'one that is deleted is created again');

  await change('App', 'api', { replicas: 1 });
  await change('Function', 'hello', { minReplicas: 0 });
  t.same(budgets(), [], 'with one pod, it would protect nothing');
  await change('App', 'web', { replicas: 3 });
  await change('Function', 'list', { minReplicas: 3 });
  t.same(budgets().sort(), ['list', 'web']);
  await change('App', 'web', { replicas: 0 });
  t.same(budgets(), ['list'], 'nor with none');
});

t.test('a deleted workload, and a function that becomes a scheduled one, have none', async (t) => {
  const { kube, settle, budgets, change, requests } = await world(t, [
    ['App', 'api', appSpec(2)],
    ['App', 'web', appSpec(1)],
    ['Function', 'hello', functionSpec(2)],
    ['Function', 'list', functionSpec(2)],
    ['Function', 'none', functionSpec(0)],
  ]);
  t.same(budgets().sort(), ['api', 'hello', 'list']);
  await change('Function', 'list', { trigger: 'cron', schedule: '0 2 * * *', minReplicas: null });
  for (const [kind, name] of [
    ['App', 'api'],
    ['App', 'web'],
    ['Function', 'hello'],
    ['Function', 'none'],
  ] as const) {
    await kube.delete(refOf(kind, name));
  }
  await settle();
  t.same(budgets(), []);
  t.same(kube.all(kinds.App), []);
  t.same(
    requests().filter((request) => /web|none/.test(request)),
    [],
  );
});
