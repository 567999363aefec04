import { isDeepStrictEqual } from 'node:util';
import { proxyAwareProcesses, type ProcessName } from '../../infra/manifests/platform/processes.ts';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { managedByLabel, managedByValue, systemNamespace } from '../../runtime/domain/labels.ts';
import { withTrustedProxies } from '../../runtime/domain/trusted-proxies.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';

interface ProcessDeployment extends KubeObject {
  spec: { template: { spec: { containers: { name: string; command?: string[] }[] } } };
}

/**
 * Has the processes that judge by the client's address started with these proxies: of their Deployments, which
 * `svc install` makes, only that argument is changed, and only over the version that was read.
 * @throws KubeError 409 when somebody changed one meanwhile
 */
export async function ensureTrustedProxies(
  kube: Pick<KubeClient, 'get' | 'replace'>,
  networks: readonly string[],
): Promise<void> {
  for (const name of proxyAwareProcesses) {
    const live = await kube.get<ProcessDeployment>(kinds.Deployment, name, systemNamespace);
    // One that is not there yet is made with the right argument, and one that others made is theirs.
    if (live?.metadata.labels?.[managedByLabel] !== managedByValue) continue;
    const wanted = withArguments(live, name, networks);
    if (!isDeepStrictEqual(wanted, live)) await kube.replace(wanted);
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
