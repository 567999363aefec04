import { kinds, type ResourceKind } from '../../runtime/contracts/resources/kinds.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { PlatformSettings } from '../manifests/platform/settings.ts';
import { InstallError } from './install-error.ts';

/** Traefik's kinds that the platform's routes use. */
const traefik = [kinds.IngressRoute, kinds.Middleware, kinds.ServersTransport];

/** @throws InstallError when the cluster lacks a kind that the platform needs, before anything is changed */
export async function checkPrerequisites(
  kube: Pick<KubeClient, 'get'>,
  { scrape }: Pick<PlatformSettings, 'scrape'>,
): Promise<void> {
  for (const kind of traefik) {
    if (!(await isKnown(kube, kind))) {
      throw new InstallError(
        `The cluster has no ${definitionOf(kind)}: Traefik 3 and its custom resources are not installed.`,
        'k3s includes Traefik. On other clusters, run: helm install traefik traefik --repo https://traefik.github.io/charts --namespace traefik --create-namespace',
      );
    }
  }
  if (scrape && !(await isKnown(kube, kinds.PodMonitor))) {
    throw new InstallError(
      `The cluster has no ${definitionOf(kinds.PodMonitor)}: --scrape needs a Prometheus operator, and none is installed.`,
      'Install one, or omit --scrape and let your Prometheus scrape /metrics on port 8081 of the pods labelled app=svc-authz.',
    );
  }
}

/** Whether the cluster has the definition of a custom resource. */
export async function isKnown(kube: Pick<KubeClient, 'get'>, kind: ResourceKind): Promise<boolean> {
  return (await kube.get(kinds.CustomResourceDefinition, definitionOf(kind))) !== undefined;
}

function definitionOf({ plural, apiVersion }: ResourceKind): string {
  return `${plural}.${apiVersion.split('/')[0]}`;
}
