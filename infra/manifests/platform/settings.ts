import type { PlatformConfigSpec } from '../../../runtime/contracts/resources/platform-config.ts';

/** Settings of PlatformConfig that an installation keeps when `svc install` runs again without their flags. */
export const optionalSettings = [
  'profile',
  'trustedProxies',
  'allowPrivateNetworks',
  'notificationNetworks',
  'hostDomains',
  'hostProofs',
  'defaultLimits',
  'maxLimits',
  'projectsPerUser',
  'warmPods',
  'builds',
  'packageRegistries',
  'caCertificates',
  'monitoring',
] as const;

type OptionalSetting = (typeof optionalSettings)[number];

/** The settings of an installation. */
export interface PlatformSettings {
  /** The domain of public URLs; the management API is at `console.<appsDomain>`. */
  appsDomain: string;
  /** The cluster's name in function hosts (docs/reference/functions.md#names). */
  cluster: string;
  /** The scheme of public URLs. */
  scheme: PlatformConfigSpec['scheme'];
  /** The port of public URLs, if it is not the scheme's default. */
  publicPort?: number;
  /** Traefik's entry points that serve public routes. */
  entryPoints: string[];
  /** The ingress's address inside the cluster. Without it, the platform cannot verify that a gate is on. */
  ingressAddress?: string;
  /** Settings of PlatformConfig that have a default. */
  optional: Partial<Pick<PlatformConfigSpec, OptionalSetting>>;
  /** Whether a Prometheus operator collects the platform's metrics. */
  scrape: boolean;
  /** The server that stores metrics. Default {@link metricsStoreUrl}. */
  metricsStoreUrl?: string;
  images: PlatformImages;
  /** The first admin's e-mail address. */
  adminEmail: string;
  /** The address of a log store beside the components of monitoring. */
  logStoreUrl?: string;
  /** One checker replica, for the embedded cluster, whose one machine is all there is. */
  oneChecker?: boolean;
  /** For tests: the workers exit at the points named by files in `/failpoints`. */
  failpoints: boolean;
}

/** Full image references, each with its tag or digest. */
export interface PlatformImages {
  /** All of the platform's own processes. */
  platform: string;
  /** The runtime of inline Node functions. */
  functionNode: string;
  /** The runtime of inline Python functions; without it they are refused. */
  functionPython?: string;
  postgres: string;
  redis: string;
  /** The image of services of the type mysql; without it they are refused. */
  mysql?: string;
  /** The image of services of the type minio; without it they are refused. */
  minio?: string;
  /** The image of services of the type mongodb; without it they are refused. */
  mongodb?: string;
}

/** The address of the component `metrics-store`, which need not run. */
export const metricsStoreUrl = 'http://prometheus.monitoring.svc:9090';

/** Whether the components of monitoring are pods of the cluster. */
export function hasComponents({ optional }: Pick<PlatformSettings, 'optional'>): boolean {
  return optional.monitoring?.mode === 'cluster';
}

/** The public host of the management API. */
export function consoleHost(settings: Pick<PlatformSettings, 'appsDomain'>): string {
  return `console.${settings.appsDomain}`;
}
