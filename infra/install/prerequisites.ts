import { kinds, type ResourceKind } from '../../runtime/contracts/resources/kinds.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { PlatformSettings } from '../manifests/platform/settings.ts';
import { InstallError } from './install-error.ts';

/** The kinds of Traefik that the platform's routes are made of. */
const traefik = [kinds.IngressRoute, kinds.Middleware];

/** @throws InstallError when the cluster lacks what the platform builds on, before anything was changed */
export async function checkPrerequisites(
  kube: Pick<KubeClient, 'get'>,
  { scrape }: Pick<PlatformSettings, 'scrape'>,
): Promise<void> {
  for (const kind of traefik) {
    if (!(await isKnown(kube, kind))) {
      throw new InstallError(
        `The cluster does not know ${definitionOf(kind)}: Traefik 3 and its custom resources are not installed.`,
        'k3s brings Traefik along. Elsewhere: helm install traefik traefik --repo https://traefik.github.io/charts --namespace traefik --create-namespace',
      );
    }
  }
  if (scrape && !(await isKnown(kube, kinds.PodMonitor))) {
    throw new InstallError(
      `The cluster does not know ${definitionOf(kinds.PodMonitor)}: there is no Prometheus operator that --scrape could ask.`,
      'Install one, or leave out --scrape and have your own Prometheus collect /metrics of the pods app=svc-authz, port 8081.',
    );
  }
}

/** Whether the cluster knows the kind of a custom resource. */
export async function isKnown(kube: Pick<KubeClient, 'get'>, kind: ResourceKind): Promise<boolean> {
  return (await kube.get(kinds.CustomResourceDefinition, definitionOf(kind))) !== undefined;
}

function definitionOf({ plural, apiVersion }: ResourceKind): string {
  return `${plural}.${apiVersion.split('/')[0]}`;
}
