import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { MonitoringSettings } from '../../runtime/contracts/resources/monitoring.ts';
import { newestGoodSettings } from '../../runtime/contracts/resources/platform-config-check.ts';
import {
  platformConfigName,
  type BuildSettings,
  type PlatformConfig,
} from '../../runtime/contracts/resources/platform-config.ts';
import { systemNamespace } from '../../runtime/domain/labels.ts';
import type { ComponentName } from '../../runtime/domain/monitoring.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { optionalSettings, type PlatformImages, type PlatformSettings } from '../manifests/platform/settings.ts';

/** The images that every installation needs. */
export type NeededImages = Pick<PlatformImages, 'platform' | 'functionNode' | 'postgres' | 'redis'>;

/** The images that the current installation runs; empty without one. */
export async function installedImages(kube: Pick<KubeClient, 'get'>): Promise<Partial<NeededImages>> {
  const config = newestGoodSettings(await kube.get<PlatformConfig>(kinds.PlatformConfig, platformConfigName));
  const process = await kube.get<WithPods>(kinds.Deployment, 'console-api', systemNamespace);
  const platform = process?.spec.template.spec.containers[0]?.image;
  const { postgres, redis } = config?.serviceImages ?? {};
  return {
    ...(platform !== undefined && { platform }),
    ...(config && { functionNode: config.runtimeImages.node }),
    ...(postgres !== undefined && { postgres }),
    ...(redis !== undefined && { redis }),
  };
}

interface WithPods extends KubeObject {
  spec: { template: { spec: { containers: { image: string; env?: { name: string; value?: string }[] }[] } } };
}

/** The requested settings with the addresses of stores of the current installation, which only console-api's variables keep. */
export async function withStoreAddresses(
  requested: PlatformSettings,
  kube: Pick<KubeClient, 'get'>,
): Promise<PlatformSettings> {
  const process = await kube.get<WithPods>(kinds.Deployment, 'console-api', systemNamespace);
  const variables = process?.spec.template.spec.containers[0]?.env ?? [];
  const valueOf = (name: string) => variables.find((variable) => variable.name === name)?.value;
  const metricsStoreUrl = requested.metricsStoreUrl ?? valueOf('METRICS_STORE_URL');
  const logStoreUrl = requested.logStoreUrl ?? valueOf('LOG_STORE_URL');
  return {
    ...requested,
    ...(metricsStoreUrl !== undefined && { metricsStoreUrl }),
    ...(logStoreUrl !== undefined && { logStoreUrl }),
  };
}

/**
 * The requested settings, completed with the installation's current ones, which may have been changed by other means than
 * `svc install`. Pure.
 */
export function withCurrent(requested: PlatformSettings, live: KubeObject | undefined): PlatformSettings {
  const stored = newestGoodSettings(live as PlatformConfig | undefined);
  if (!stored) return requested;
  const { images, optional } = requested;
  const { python } = stored.runtimeImages;
  const { mysql, minio, mongodb } = stored.serviceImages ?? {};
  const current = Object.entries(stored).filter(([name]) => optionalSettings.some((other) => other === name));
  const packageRegistries = { ...stored.packageRegistries, ...optional.packageRegistries };
  return {
    ...requested,
    images: {
      ...(python !== undefined && { functionPython: python }),
      ...(mysql !== undefined && { mysql }),
      ...(minio !== undefined && { minio }),
      ...(mongodb !== undefined && { mongodb }),
      ...images,
    },
    optional: {
      ...Object.fromEntries(current),
      ...optional,
      ...(Object.keys(packageRegistries).length > 0 && { packageRegistries }),
      ...(optional.builds && stored.builds && { builds: currentBuilds(optional.builds, stored.builds) }),
      ...(optional.monitoring && { monitoring: currentMonitoring(optional.monitoring, stored.monitoring) }),
    },
  };
}

/** What an admin has set for each component stays, unless it is requested anew. */
function currentMonitoring(requested: MonitoringSettings, stored: MonitoringSettings | undefined): MonitoringSettings {
  const components = { ...stored?.components };
  for (const [name, settings] of Object.entries(requested.components ?? {})) {
    components[name as ComponentName] = { ...components[name as ComponentName], ...settings };
  }
  const own = Object.keys(components).length > 0 && { components };
  // The stores of the embedded cluster are parts of its process, also when it is installed without its own flags.
  if (stored?.mode === 'embedded') return { ...stored, ...own };
  const images = { ...stored?.images, ...requested.images };
  return { ...stored, ...requested, ...own, ...(Object.keys(images).length > 0 && { images }) };
}

/** The push address is kept only together with its registry. */
function currentBuilds(requested: BuildSettings, { pushAddress, ...stored }: BuildSettings): BuildSettings {
  const sameRegistry = requested.registry === stored.registry;
  return {
    ...stored,
    ...(sameRegistry && pushAddress !== undefined && { pushAddress }),
    ...requested,
    baseImages: { ...stored.baseImages, ...requested.baseImages },
  };
}
