import t from 'tap';
import type { BatchJob } from '../../../infra/manifests/batch.ts';
import type { Build } from '../../../runtime/contracts/resources/build.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { managedLabels } from '../../../runtime/domain/labels.ts';
import { ownerReference } from '../../../runtime/kube/claims.ts';
import { buildController } from '../../../workers/controllers/build.ts';
import { environmentNamespaceObject } from '../../support/cluster.ts';
import type { FakeKube } from '../../support/fake-kube.ts';
import { explore, fixedId, type Scenario } from '../../support/state-space.ts';

const namespace = 'shop-prod';
const place = (name: string) => ({ apiVersion: 'platform.svc/v1', kind: 'Build', namespace, name });
const jobPlace = (name: string) => ({ apiVersion: 'batch/v1', kind: 'Job', namespace, name });
const create = (name: string, id: number) => (kube: FakeKube) =>
  kube.create<Build>({
    apiVersion: 'platform.svc/v1',
    kind: 'Build',
    metadata: { name, namespace, labels: { 'platform.svc/id': fixedId(id) } },
    spec: { app: 'api', source: { url: 'https://git.example.com/shop/api.git' } },
  });

/** Acts as a builder. */
const begin = (name: string) => async (kube: FakeKube) => {
  const build = await kube.get<Build>(kinds.Build, name, namespace);
  if (!build) throw new Error(`there is no build ${name}`);
  const metadata = { name, namespace, labels: managedLabels(), ownerReferences: [ownerReference(build)] };
  await kube.create<BatchJob>({ apiVersion: 'batch/v1', kind: 'Job', metadata, spec: { template: {} } });
  await report(name, { active: 1, ready: 1 })(kube);
};

const report = (name: string, more: object) => async (kube: FakeKube) => {
  const run = await kube.get<BatchJob>(kinds.BatchJob, name, namespace);
  if (!run) throw new Error(`there is no job ${name}`);
  await kube.replaceStatus<BatchJob>({ ...run, status: { startTime: '2026-01-01T00:00:00Z', ...more } });
};

const ended = (type: string, message: string) => ({
  conditions: [{ type, status: 'True', message, lastTransitionTime: '2026-01-01T00:01:00Z' }],
});

const story: Scenario<undefined> = {
  begin(kube) {
    kube.seed(environmentNamespaceObject('shop', 'prod'));
    return undefined;
  },
  controllers: ({ kube, clock, events }) => [
    buildController({
      kube,
      clock,
      events,
      platformConfig: () => undefined,
      records: { issueSourceToken: () => Promise.resolve(undefined) },
    }),
  ],
  steps: [
    create('one', 1),
    begin('one'),
    report('one', ended('Complete', '')),
    // The result stays when the Job is deleted; a Job that is deleted without a result is a result too.
    (kube) => kube.delete(jobPlace('one')),
    create('two', 2),
    begin('two'),
    (kube) => kube.delete(jobPlace('two')),
    create('three', 3),
    begin('three'),
    report('three', ended('Failed', 'it does not compile')),
    create('four', 4),
    begin('four'),
    (kube) => kube.delete(place('four')),
  ],
};

await explore(t, 'Build', story);
