import { customResourceDefinitions } from '../../../infra/crds/custom-resources.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { applyObject } from '../../../runtime/kube/children.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';

/** Ensures that the cluster knows the platform's kinds and serves them. */
export async function ensureCustomResources(kube: KubeClient): Promise<void> {
  for (const definition of customResourceDefinitions) await applyObject(kube, definition);
  for (const kind of [kinds.App, kinds.WorkloadName, kinds.HostName]) {
    for (;;) {
      const served = await kube.list(kind).then(
        () => true,
        () => false,
      );
      if (served) break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
