import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import type { ResourceKind } from '../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import { settleCluster } from '../golden/story.ts';
import { environmentNamespaceObject } from '../support/cluster.ts';
import { everyController } from '../support/every-controller.ts';
import type { FakeKube } from '../support/fake-kube.ts';
import { platformConfigObject, readyProject, settings } from '../support/objects.ts';

interface Status {
  phase?: string;
  message?: string;
  conditions?: { type: string; status: string; reason: string }[];
}

/** A cluster in which a user writes objects with kubectl, past the API, and every controller works. */
export async function editedCluster(
  t: { teardown(end: () => unknown): void },
  change: Partial<PlatformConfigSpec>,
  ...objects: KubeObject[]
): Promise<{
  kube: FakeKube;
  /** Lets the controllers work until they have nothing left to do. */
  settle: () => Promise<void>;
  statusOf: (kind: ResourceKind, name: string) => Status;
}> {
  const { clock, kube, manager } = everyController();
  kube.seed(
    { ...platformConfigObject, spec: { ...settings, ...change } },
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'svc-system' } },
    ...readyProject('shop', ['prod', 'dev']).filter(({ kind }) => kind === 'Project'),
    environmentNamespaceObject('shop', 'prod'),
    environmentNamespaceObject('shop', 'dev'),
    ...objects,
  );
  t.teardown(() => manager.stop());
  manager.start();
  const settle = async () => {
    for (let second = 0; second < 10; second++) {
      await clock.advance(1_000);
      await settleCluster(kube);
    }
  };
  await settle();
  return {
    kube,
    settle,
    statusOf(kind, name) {
      return kube.all(kind).find(({ metadata }) => metadata.name === name)?.status ?? {};
    },
  };
}

/** The condition of an object whose reconcile stopped. */
export const refused = (reason: string, message: string | RegExp) => ({
  phase: 'failed',
  message,
  conditions: [{ type: 'ChildrenAdopted', status: 'False', reason }],
});
