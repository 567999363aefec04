import t from 'tap';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { ServiceResource } from '../../../runtime/contracts/resources/service.ts';
import { workloadLabels } from '../../../runtime/domain/labels.ts';
import { serviceController } from '../../../workers/controllers/service.ts';
import { environmentNamespaceObject } from '../../support/cluster.ts';
import type { FakeKube } from '../../support/fake-kube.ts';
import { explore, fixedId, type Scenario } from '../../support/state-space.ts';

const namespace = 'shop-prod';
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

const story: Scenario<undefined> = {
  begin(kube) {
    // Somebody else's name at first.
    kube.seed(environmentNamespaceObject('shop', 'prod'), {
      ...claim,
      metadata: { name: 'orders', namespace, labels: workloadLabels(job) },
      spec: { kind: 'Job', workloadId: job.id },
    });
    return undefined;
  },
  controllers: ({ kube, clock, events }) => [serviceController({ kube, clock, events })],
  steps: [
    create(1, { type: 'postgres', external: { host: 'db', tls: false } }),
    (kube) => kube.delete(claim),
    (kube) => kube.mergePatch(place, { spec: { external: { host: 'db.example.com' } } }),
    (kube) => kube.delete(place),
    create(2, { type: 'redis' }),
  ],
  always(kube) {
    const ready = kube
      .all<ServiceResource>(kinds.ServiceResource)
      .some(({ metadata, status }) => status?.phase === 'ready' && metadata.deletionTimestamp === undefined);
    if (ready && kube.all(kinds.WorkloadName).length === 0) throw new Error('a service is ready under a free name');
  },
};

await explore(t, 'Service', story);
