import { randomBytes } from 'node:crypto';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { createKubeClient } from '../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../runtime/kube/kubeconfig.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';

/** Why tests on the test cluster are skipped, or false when there is one; for tap's `skip`. */
export const noCluster: string | false = process.env['SVC_TEST_KUBECONFIG']
  ? false
  : 'no test cluster: run npm test, which starts one, or set SVC_TEST_KUBECONFIG';

/** The test cluster's API server, with a namespace that is deleted when the test ends. */
export async function testCluster(t: {
  teardown(end: () => unknown): void;
}): Promise<{ kube: KubeClient; namespace: string }> {
  const kube = createKubeClient(loadKubeConfig(process.env['SVC_TEST_KUBECONFIG'] ?? ''));
  const namespace = `test-${randomBytes(4).toString('hex')}`;
  await kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  t.teardown(async () => {
    await kube.delete({ apiVersion: 'v1', kind: kinds.Namespace.kind, name: namespace });
    await kube.close();
  });
  return { kube, namespace };
}
