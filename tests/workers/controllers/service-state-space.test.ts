import t from 'tap';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import type { ServiceResource } from '../../../runtime/contracts/resources/service.ts';
import { workloadLabels } from '../../../runtime/domain/labels.ts';
import { serviceController } from '../../../workers/controllers/service.ts';
import { environmentNamespaceObject } from '../../support/cluster.ts';
import type { FakeKube } from '../../support/fake-kube.ts';
import { settings } from '../../support/objects.ts';
import { explore, fixedId, type Scenario } from '../../support/state-space.ts';

const namespace = 'shop-prod';
const config = { ...settings, serviceImages: { redis: 'registry.test/redis:1' } };
const place = { apiVersion: 'platform.svc/v1', kind: 'Service', namespace, name: 'orders' };
const claim = { apiVersion: 'platform.svc/v1', kind: 'WorkloadName', namespace, name: 'orders' };
const job = { kind: 'Job' as const, name: 'orders', id: fixedId(9) };
const create = (id: number, spec: ServiceResource['spec']) => (kube: FakeKube) =>
  kube.create<ServiceResource>({
    apiVersion: 'platform.svc/v1',
    kind: 'Service',
    metadata: { name: 'orders', namespace, labels: { 'platform.svc/id': fixedId(id) } },
    spec,
  });

/** Acts as the cluster does for a StatefulSet: a claim that stays, and a pod that serves. */
async function runServers(kube: FakeKube): Promise<void> {
  for (const { metadata } of kube.all(kinds.StatefulSet)) {
    const { name, labels = {}, uid } = metadata;
    const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name, uid, controller: true };
    const claim = { name: `data-${name}-0`, namespace, labels };
    if (!(await kube.get(kinds.PersistentVolumeClaim, claim.name, namespace))) {
      await kube.create({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: claim });
    }
    if (await kube.get(kinds.Pod, `${name}-0`, namespace)) continue;
    await kube.create<Pod>({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `${name}-0`, namespace, labels, ownerReferences: [owner] },
      spec: { containers: [] },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
  }
}

const story: Scenario<undefined> = {
  begin(kube) {
    // Another workload's name at first.
    kube.seed(environmentNamespaceObject('shop', 'prod'), {
      ...claim,
      metadata: { name: 'orders', namespace, labels: workloadLabels(job) },
      spec: { kind: 'Job', workloadId: job.id },
    });
    return undefined;
  },
  controllers: ({ kube, clock, events }) => [
    serviceController({
      kube,
      clock,
      events,
      platformConfig: () => config,
      makePassword: () => 'password',
      records: { forgetDatabases: () => Promise.resolve() },
    }),
  ],
  cluster: runServers,
  steps: [
    create(1, { type: 'postgres', external: { host: 'db', tls: false } }),
    (kube) => kube.delete(claim),
    (kube) => kube.mergePatch(place, { spec: { external: { host: 'db.example.com' } } }),
    (kube) => kube.delete(place),
    create(2, { type: 'redis' }),
    (kube) => kube.delete(place),
  ],
  always(kube) {
    const ready = kube
      .all<ServiceResource>(kinds.ServiceResource)
      .some(({ metadata, status }) => status?.phase === 'ready' && metadata.deletionTimestamp === undefined);
    const data = kube.all(kinds.PersistentVolumeClaim).length > 0;
    if (kube.all(kinds.Pod).length > 0 && !data) throw new Error('the data went before its server');
    if (data && kube.all(kinds.Secret).length === 0) throw new Error('the password went before its data');
    if (ready && kube.all(kinds.WorkloadName).length === 0) throw new Error('a service is ready under a free name');
  },
};

await explore(t, 'Service', story);
