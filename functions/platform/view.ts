import type { PlatformConfigView } from '../../runtime/contracts/api/platform.ts';
import {
  acceptedCondition,
  defaultBuildsAtOnce,
  defaultBuildTimeoutSeconds,
  defaultKeptImages,
  defaultProjectsPerUser,
  warmPodsOf,
  type BuildSettings,
  type PlatformConfig,
  type PlatformConfigSpec,
} from '../../runtime/contracts/resources/platform-config.ts';
import { effectiveLimits, limitCeilings } from '../../runtime/contracts/resources/project.ts';
import { defaultProfile } from '../../runtime/domain/platform-profile.ts';
import { findCondition } from '../../runtime/kube/conditions.ts';

/** The active settings as the API shows them, and whether the last change was accepted. */
export function platformConfigToView(config: PlatformConfig, settings: PlatformConfigSpec): PlatformConfigView {
  const { appsDomain, cluster, scheme, publicPort, entryPoints, ingressAddress } = settings;
  const { profile = defaultProfile, trustedProxies = [], allowPrivateNetworks = [] } = settings;
  const { hostDomains = [], hostProofs = true, maxLimits, projectsPerUser = defaultProjectsPerUser } = settings;
  const { notificationNetworks = [], defaultLimits, runtimeImages, serviceImages, packageRegistries } = settings;
  const { caCertificates } = settings;
  return {
    appsDomain,
    cluster,
    scheme,
    ...(publicPort !== undefined && { publicPort }),
    entryPoints,
    ...(ingressAddress !== undefined && { ingressAddress }),
    profile,
    trustedProxies,
    allowPrivateNetworks,
    notificationNetworks,
    hostDomains,
    hostProofs,
    defaultLimits: effectiveLimits(undefined, defaultLimits),
    maxLimits: limitCeilings(maxLimits),
    projectsPerUser,
    warmPods: warmPodsOf(settings),
    runtimeImages,
    ...(serviceImages && { serviceImages }),
    ...(packageRegistries && { packageRegistries }),
    ...(caCertificates !== undefined && { caCertificates }),
    ...(settings.builds && { builds: buildsToView(settings.builds) }),
    ...changeStatus(config),
  };
}

function buildsToView({ image, registry, pushAddress, gitNetworks = [], ...rest }: BuildSettings) {
  const { atOnce = defaultBuildsAtOnce, timeoutSeconds = defaultBuildTimeoutSeconds } = rest;
  const { keepImages = defaultKeptImages } = rest;
  const push = pushAddress !== undefined && { pushAddress };
  return { image, registry, ...push, gitNetworks, atOnce, timeoutSeconds, keepImages };
}

function changeStatus({ metadata, status }: PlatformConfig): Pick<PlatformConfigView, 'status' | 'message'> {
  if (status?.observedGeneration !== metadata.generation) return { status: 'pending' };
  const condition = findCondition(status?.conditions, acceptedCondition);
  if (condition?.status === 'True') return { status: 'accepted' };
  return condition ? { status: 'refused', message: condition.message } : { status: 'pending' };
}
