import { isDeepStrictEqual } from 'node:util';
import { proxyAwareProcesses, type ProcessName } from '../../infra/manifests/platform/processes.ts';
import type { V1Container } from '@kubernetes/client-node';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { managedByLabel, managedByValue, systemNamespace } from '../../runtime/domain/labels.ts';
import { withTrustedProxies } from '../../runtime/domain/trusted-proxies.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';

interface ProcessDeployment extends KubeObject {
  spec: { template: { spec: { containers: Pick<V1Container, 'name' | 'command'>[] } } };
}

/**
 * Sets the trusted proxies of the processes that depend on the client's address, which restarts them. It changes only
 * this argument of their Deployment objects, which `svc install` creates, and only in the version that was read.
 * @throws KubeError 409 after a concurrent change
 */
export async function ensureTrustedProxies(
  kube: Pick<KubeClient, 'get' | 'replace'>,
  networks: readonly string[],
): Promise<void> {
  for (const name of proxyAwareProcesses) {
    const live = await kube.get<ProcessDeployment>(kinds.Deployment, name, systemNamespace);
    // A missing object is created with the right argument, and one without the label is not the platform's.
    if (live?.metadata.labels?.[managedByLabel] !== managedByValue) continue;
    const desired = withArguments(live, name, networks);
    if (!isDeepStrictEqual(desired, live)) await kube.replace(desired);
  }
}

function withArguments<T extends ProcessDeployment>(live: T, name: ProcessName, networks: readonly string[]): T {
  const { template } = live.spec;
  const containers = template.spec.containers.map((container) => {
    if (container.name !== name || !container.command) return container;
    return { ...container, command: withTrustedProxies(container.command, networks) };
  });
  return { ...live, spec: { ...live.spec, template: { ...template, spec: { ...template.spec, containers } } } };
}
