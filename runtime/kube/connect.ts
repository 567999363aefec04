import type { Registry } from 'prom-client';
import { createKubeClient, type ConnectedKubeClient } from './client.ts';
import { serviceAccountCredentials, type ServiceAccount } from './credentials.ts';

/** How a process reaches Kubernetes: by a kubeconfig or, as a pod does, by its service account. */
export type KubernetesSettings = Readonly<{ kubeconfig: string } | { account: ServiceAccount }>;

/** A client for these settings. Connects on first use. @param options.registry where its requests are counted */
export async function connectKube(
  settings: KubernetesSettings,
  options: { registry?: Registry } = {},
): Promise<ConnectedKubeClient> {
  if ('account' in settings) return createKubeClient(serviceAccountCredentials(settings.account), options);
  // What understands every kubeconfig takes 90 MB, which a pod does not need.
  const { loadKubeConfig } = await import('./kubeconfig.ts');
  return createKubeClient(loadKubeConfig(settings.kubeconfig), options);
}
