import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { everyController } from '../support/every-controller.ts';
import { ground, killedPod, settleCluster, workloads } from './story.ts';

/** Kinds that Kubernetes creates, or that nothing depends on. */
const left = new Set(['Event', 'Lease', 'StorageClass', 'Pod']);

/** The objects that the controllers of this checkout create for the story, the same every time. */
export async function recordObjects(): Promise<Stored<KubeObject>[]> {
  const { clock, kube, manager } = everyController();
  kube.seed(...ground);
  manager.start();
  await clock.advance(5_000);
  for (const workload of workloads) await kube.create(workload);
  for (let second = 0; second < 90; second++) {
    await clock.advance(1_000);
    await settleCluster(kube);
  }
  // One function runs, in the state that the interceptor and the scaler leave.
  const scale = await kube.getScale('shop-prod', 'busy');
  if (scale) await kube.replaceScale(scale, 2);
  await settleCluster(kube);
  kube.seed(killedPod);
  // Past everything that only the passage of time causes.
  await clock.advance(30 * 60_000);
  await manager.stop();

  const objects = Object.values(kinds)
    .flatMap((kind) => kube.all(kind))
    .filter(({ kind, metadata }) => !left.has(kind) && metadata.name !== 'svc-system');
  const uids = new Map(objects.map(({ metadata }, index) => [metadata.uid, index + 1]));
  const fixed = (uid: string) => `00000000-0000-4000-8000-${String(uids.get(uid)).padStart(12, '0')}`;
  return objects.map((object) => {
    const text = JSON.stringify(object, (key, value: unknown) => {
      if (key === 'resourceVersion') return undefined;
      return key === 'uid' && typeof value === 'string' ? fixed(value) : value;
    });
    return JSON.parse(text) as Stored<KubeObject>;
  });
}
