import t from 'tap';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Secret } from '../../../runtime/workloads/owned-secret.ts';
import { ensureEnvironmentSecret, withEnvironmentSecret } from '../../../runtime/workloads/environment.ts';
import { appController } from '../../../workers/controllers/app.ts';
import { environmentNamespaceObject, settleDeployments } from '../../support/cluster.ts';
import type { FakeKube } from '../../support/fake-kube.ts';
import { settings } from '../../support/objects.ts';
import { explore, fixedId, type Scenario } from '../../support/state-space.ts';

const [namespace, name] = ['shop-prod', 'api'];

async function living(kube: FakeKube): Promise<Awaited<ReturnType<typeof kube.create<App>>>> {
  const app = await kube.get<App>(kinds.App, name, namespace);
  if (!app) throw new Error('no app');
  return app;
}

/** The rollout step of a release with its own environment, or with an earlier one. */
const release = (generation: number, value: string) => async (kube: FakeKube) => {
  const envSecret = `app-api-env-${value}`;
  const variables = [{ name: 'A', value }];
  await ensureEnvironmentSecret(kube, await living(kube), { name: envSecret, variables }, generation);
  for (;;) {
    const app = await living(kube);
    const annotations = withEnvironmentSecret(app, envSecret);
    const next = { generation, deploymentId: fixedId(100 + generation), image: 'registry.test/api:1', envSecret };
    try {
      await kube.replace<App>({
        ...app,
        metadata: { ...app.metadata, annotations },
        spec: { ...app.spec, release: next },
      });
      return;
    } catch (error) {
      if (!String(error).includes('has been modified')) throw error;
    }
  }
};

const scenario: Scenario<object> = {
  begin(kube) {
    kube.seed(environmentNamespaceObject('shop', 'prod'));
    return {};
  },
  controllers: ({ kube, clock, events }) => [
    appController({
      kube,
      clock,
      events,
      platformConfig: () => settings,
      probeGate: async () => ({ kind: 'open', status: 404 }),
      records: {
        project: async () => {},
        deployFirst: async () => {},
        deployEdited: async () => false,
        neededEnvironments: async () => [],
        projectBindings: async () => undefined,
        projectGit: async () => {},
        markDeleted: async () => {},
      },
    }),
  ],
  steps: [
    (kube) =>
      kube.create<App>({
        apiVersion: 'platform.svc/v1',
        kind: 'App',
        metadata: { name, namespace, labels: { 'platform.svc/id': fixedId(1) } },
        spec: { image: 'registry.test/api:1', port: 8080, replicas: 1 },
      }),
    release(1, 'one'),
    release(2, 'two'),
    async (kube) => {
      await release(3, 'three')(kube);
      await release(4, 'two')(kube);
    },
    (kube) => kube.mergePatch({ ...kinds.App, namespace, name }, { spec: { memory: '256Mi' } }),
    release(5, 'one'),
  ],
  cluster: settleDeployments,
  always(kube) {
    const secrets = new Set(kube.all<Secret>(kinds.Secret).map(({ metadata }) => metadata.name));
    for (const { spec } of kube.all<App>(kinds.App)) {
      const secretName = spec.release?.envSecret;
      if (secretName !== undefined && !secrets.has(secretName)) throw new Error(`the release has lost ${secretName}`);
    }
  },
};

await explore(t, 'App with environments', scenario);
