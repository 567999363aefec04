import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { newestGoodSettings } from '../../runtime/contracts/resources/platform-config-check.ts';
import {
  platformConfigName,
  type BuildSettings,
  type PlatformConfig,
} from '../../runtime/contracts/resources/platform-config.ts';
import { systemNamespace } from '../../runtime/domain/labels.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { otherSettings, type PlatformImages, type PlatformSettings } from '../manifests/platform/settings.ts';

/** The images that every installation needs. */
export type NeededImages = Pick<PlatformImages, 'platform' | 'functionNode' | 'postgres' | 'redis'>;

/** The images that an installation runs; none of those that it has not, or before there is one. */
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
  spec: { template: { spec: { containers: { image: string }[] } } };
}

/**
 * What was asked for, with what the installation has beside it and was not asked for: others than `svc install` change
 * that, too. Pure.
 */
export function withKept(asked: PlatformSettings, live: KubeObject | undefined): PlatformSettings {
  const stored = newestGoodSettings(live as PlatformConfig | undefined);
  if (!stored) return asked;
  const { images, others } = asked;
  const { python } = stored.runtimeImages;
  const { mysql, minio, mongodb } = stored.serviceImages ?? {};
  const kept = Object.entries(stored).filter(([name]) => otherSettings.some((other) => other === name));
  const packageRegistries = { ...stored.packageRegistries, ...others.packageRegistries };
  return {
    ...asked,
    images: {
      ...(python !== undefined && { functionPython: python }),
      ...(mysql !== undefined && { mysql }),
      ...(minio !== undefined && { minio }),
      ...(mongodb !== undefined && { mongodb }),
      ...images,
    },
    others: {
      ...Object.fromEntries(kept),
      ...others,
      ...(Object.keys(packageRegistries).length > 0 && { packageRegistries }),
      ...(others.builds && stored.builds && { builds: keptBuilds(others.builds, stored.builds) }),
    },
  };
}

/** An address to push to belongs to the registry that it was given with. */
function keptBuilds(asked: BuildSettings, { pushAddress, ...stored }: BuildSettings): BuildSettings {
  const sameRegistry = asked.registry === stored.registry;
  return {
    ...stored,
    ...(sameRegistry && pushAddress !== undefined && { pushAddress }),
    ...asked,
    baseImages: { ...stored.baseImages, ...asked.baseImages },
  };
}
