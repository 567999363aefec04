import t from 'tap';
import type { VolumeClaim } from '../../../infra/manifests/volume.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Volume } from '../../../runtime/contracts/resources/volume.ts';
import { podLabels, workloadLabels } from '../../../runtime/domain/labels.ts';
import { podOomController } from '../../../workers/controllers/pod-oom.ts';
import { volumeController } from '../../../workers/controllers/volume.ts';
import { environmentNamespaceObject } from '../../support/cluster.ts';
import type { FakeKube } from '../../support/fake-kube.ts';
import { explore, fixedId, type Scenario } from '../../support/state-space.ts';

const namespace = 'shop-prod';
const api = { kind: 'App' as const, name: 'api', id: fixedId(9) };
const place = { apiVersion: 'platform.svc/v1', kind: 'Volume', namespace, name: 'data' };

/** Acts as the cluster does for claims: sets the default class, provides storage and expands it. */
async function bindClaims(kube: FakeKube): Promise<void> {
  for (const claim of kube.all<VolumeClaim>(kinds.PersistentVolumeClaim)) {
    const storage = claim.spec.resources.requests.storage;
    if (claim.status?.capacity?.storage === storage) continue;
    const spec = { ...claim.spec, storageClassName: 'fast', volumeName: 'pv-1' };
    const bound = await kube.replace<VolumeClaim>({ ...claim, spec });
    await kube.replaceStatus<VolumeClaim>({ ...bound, status: { phase: 'Bound', capacity: { storage } } });
  }
}

const volumeStory: Scenario<undefined> = {
  begin(kube) {
    const fast = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name: 'fast' } };
    kube.seed(environmentNamespaceObject('shop', 'prod'), { ...fast, allowVolumeExpansion: true } as typeof fast);
    return undefined;
  },
  controllers: ({ kube, clock, events }) => [volumeController({ kube, clock, events })],
  steps: [
    (kube) =>
      kube.create<Volume>({
        apiVersion: 'platform.svc/v1',
        kind: 'Volume',
        metadata: { name: 'data', namespace, labels: { 'platform.svc/id': fixedId(1) } },
        spec: { size: '1Gi', accessMode: 'ReadWriteOnce' },
      }),
    (kube) => kube.mergePatch(place, { spec: { size: '2Gi' } }),
    async (kube) => {
      await kube.create<Pod>({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'api-1', namespace, labels: podLabels(api, 'serve') },
        spec: { containers: [], volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }] },
      });
      await kube.delete(place);
    },
    (kube) => kube.delete({ apiVersion: 'v1', kind: 'Pod', namespace, name: 'api-1' }),
  ],
  cluster: bindClaims,
  always(kube) {
    const mounted = kube.all(kinds.Pod).length > 0;
    if (mounted && kube.all(kinds.PersistentVolumeClaim).length === 0) throw new Error('a mounted claim was deleted');
  },
};

const kill = (name: string, finishedAt: string) => (kube: FakeKube) => {
  kube.seed({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: podLabels(api, 'serve') },
    spec: { containers: [{ name: 'app', resources: { limits: { memory: '256Mi' } } }] },
    status: {
      phase: 'Running',
      containerStatuses: [
        {
          name: 'app',
          ready: true,
          restartCount: 1,
          lastState: { terminated: { exitCode: 137, reason: 'OOMKilled', finishedAt } },
        },
      ],
    },
  });
  return Promise.resolve();
};

const oomStory: Scenario<undefined> = {
  begin(kube) {
    kube.seed(environmentNamespaceObject('shop', 'prod'), {
      apiVersion: 'platform.svc/v1',
      kind: 'App',
      metadata: { name: 'api', namespace, labels: workloadLabels(api) },
      spec: { image: 'x' },
      status: { phase: 'running' },
    });
    return undefined;
  },
  controllers: ({ kube, events }) => [podOomController({ kube, events })],
  steps: [
    kill('api-1', '2026-01-01T00:00:10Z'),
    kill('api-2', '2026-01-01T00:01:10Z'),
    (kube) => kube.delete({ apiVersion: 'v1', kind: 'Pod', namespace, name: 'api-1' }),
  ],
};

void explore(t, 'Volume', volumeStory);
void explore(t, 'PodOOM', oomStory);
