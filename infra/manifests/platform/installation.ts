import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import {
  platformConfigName,
  type PlatformConfig,
  type PlatformConfigSpec,
} from '../../../runtime/contracts/resources/platform-config.ts';
import { monitoringAccess } from '../monitoring/access.ts';
import { accessManifests, environmentRoles, storeAccount } from './access.ts';
import { processDeployment } from './deployment.ts';
import { buildNamespaceManifest, systemNamespaceManifest } from './namespace.ts';
import {
  consoleRetry,
  consoleRoute,
  signInBody,
  disruptionBudget,
  eventsServiceManifest,
  processService,
  storesPolicy,
} from './network.ts';
import { systemObject, type Manifest } from './object.ts';
import { probePace } from './pod.ts';
import { platformProcesses, processNames } from './processes.ts';
import { processScrape } from './scrape.ts';
import { hasComponents, type PlatformSettings } from './settings.ts';
import { postgresManifests, redisManifests } from './stores.ts';

/** All objects of an installation except CRDs and generated Secrets, in the order in which they are applied. */
export interface Installation {
  /** Applied before the Secrets. */
  namespace: Manifest;
  /** The rights in environments, which are bound in each of them. Applied before the rights in the cluster. */
  environmentRoles: Manifest[];
  /** What the components of monitoring need, if they are pods. Applied before the Secrets. */
  monitoring: Manifest[];
  /** Accounts and rights. */
  access: Manifest[];
  /** PostgreSQL and Redis. */
  stores: Manifest[];
  /** The settings, the processes and their routes. */
  platform: Manifest[];
}

/** The objects of an installation with these settings. Pure. */
export function installation(settings: PlatformSettings): Installation {
  const processes = platformProcesses(settings);
  const pace = probePace(settings.optional.profile);
  const all = processNames.map((name) => processes[name]);
  return {
    namespace: systemNamespaceManifest(),
    environmentRoles: environmentRoles(),
    monitoring: hasComponents(settings) ? monitoringAccess() : [],
    access: [
      buildNamespaceManifest(),
      ...processNames.flatMap(accessManifests),
      ...['svc-postgres', 'svc-redis'].map(storeAccount),
    ],
    stores: [
      storesPolicy(),
      ...postgresManifests(settings.images.postgres, pace),
      ...redisManifests(settings.images.redis, pace),
    ],
    platform: [
      systemObject<PlatformConfig>(kinds.PlatformConfig, platformConfigName, { spec: platformConfigOf(settings) }),
      ...all.filter(({ serves }) => serves).map(processService),
      eventsServiceManifest(),
      ...all.filter(({ replicas }) => replicas > 1).map(disruptionBudget),
      ...all.map((process) => processDeployment(process, settings.images.platform)),
      consoleRetry(),
      signInBody(),
      consoleRoute(settings),
      ...(settings.scrape ? processNames.map(processScrape) : []),
    ],
  };
}

/** Objects that only some settings need: a change of settings may have to delete them. Pure. */
export function optionalManifests(settings: PlatformSettings): Manifest[] {
  const processes = platformProcesses(settings);
  return [...processNames.map(processScrape), ...processNames.map((name) => disruptionBudget(processes[name]))];
}

/** The settings in the form of PlatformConfig. */
export function platformConfigOf(settings: PlatformSettings): PlatformConfigSpec {
  const { appsDomain, cluster, scheme, publicPort, entryPoints, ingressAddress, images, optional } = settings;
  return {
    appsDomain,
    cluster,
    scheme,
    ...(publicPort !== undefined && { publicPort }),
    entryPoints,
    ...(ingressAddress !== undefined && { ingressAddress }),
    runtimeImages: {
      node: images.functionNode,
      ...(images.functionPython !== undefined && { python: images.functionPython }),
    },
    serviceImages: {
      postgres: images.postgres,
      redis: images.redis,
      ...(images.mysql !== undefined && { mysql: images.mysql }),
      ...(images.minio !== undefined && { minio: images.minio }),
      ...(images.mongodb !== undefined && { mongodb: images.mongodb }),
    },
    ...optional,
  };
}
