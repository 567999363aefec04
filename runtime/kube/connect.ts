import type { Registry } from 'prom-client';
import { createKubeClient, type ConnectedKubeClient } from './client.ts';
import { serviceAccountCredentials, type ServiceAccount } from './credentials.ts';

/** Access to Kubernetes with a kubeconfig or, in a pod, with its service account. */
export type KubernetesSettings = Readonly<{ kubeconfig: string } | { account: ServiceAccount }>;

/** Creates a client, which connects on first use. @param options.registry for the metrics of its requests */
export async function connectKube(
  settings: KubernetesSettings,
  options: { registry?: Registry } = {},
): Promise<ConnectedKubeClient> {
  if ('account' in settings) return createKubeClient(serviceAccountCredentials(settings.account), options);
  // Loaded when needed, because its parser of kubeconfigs takes 90 MB, and pods do not need it.
  const { loadKubeConfig } = await import('./kubeconfig.ts');
  return createKubeClient(loadKubeConfig(settings.kubeconfig), options);
}
