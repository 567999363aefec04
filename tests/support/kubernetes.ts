import { randomBytes } from 'node:crypto';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { createKubeClient } from '../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../runtime/kube/kubeconfig.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';

/** Why tests against the real cluster are left out, or false where one is there; for tap's `skip`. */
export const noCluster: string | false = process.env['SVC_TEST_KUBECONFIG']
  ? false
  : 'no real cluster: npm test brings one up, or set SVC_TEST_KUBECONFIG';

/** The real API server with a namespace of the test's own, which goes with the test. */
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
