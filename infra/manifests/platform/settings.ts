import type { PlatformConfigSpec } from '../../../runtime/contracts/resources/platform-config.ts';

/** Settings that an installation keeps when `svc install` is run again and does not name them. */
export const otherSettings = [
  'profile',
  'trustedProxies',
  'allowPrivateNetworks',
  'notificationNetworks',
  'defaultLimits',
  'builds',
  'packageRegistries',
] as const;

export type OtherSetting = (typeof otherSettings)[number];

/** Everything that an installation of the platform can differ in. */
export interface PlatformSettings {
  /** The domain under which public app and function URLs are served, and the console at `console.<appsDomain>`. */
  appsDomain: string;
  /** The cluster's name in function hosts (spec.md §4.6). */
  cluster: string;
  /** How clients reach the ingress. */
  scheme: PlatformConfigSpec['scheme'];
  /** The ingress port as clients see it, when it is not the scheme's own. */
  publicPort?: number;
  /** Traefik's entry points that serve public routes. */
  entryPoints: string[];
  /** Where the ingress answers inside the cluster; absent: nobody can be asked whether a route demands a key. */
  ingressAddress?: string;
  /** What PlatformConfig says beside that; see there. */
  others: Partial<Pick<PlatformConfigSpec, OtherSetting>>;
  /** Whether a Prometheus operator is to collect the gate's metrics (spec.md §6.2: not unless asked for). */
  scrape: boolean;
  images: PlatformImages;
  /** The first admin's e-mail address. */
  adminEmail: string;
  /** Tests only: the workers die at the points named by files in `/failpoints`. */
  failpoints: boolean;
}

/** Full image references, each with its tag or digest. */
export interface PlatformImages {
  /** All of the platform's own processes. */
  platform: string;
  /** The runtime of inline Node functions. */
  functionNode: string;
  /** Without it, functions in Python are refused. */
  functionPython?: string;
  postgres: string;
  redis: string;
  /** Of services of the type mysql; without it there are none. */
  mysql?: string;
  /** Of services of the type minio; without it there are none. */
  minio?: string;
  /** Of services of the type mongodb; without it there are none. */
  mongodb?: string;
}

/** The public host of the management API. */
export function consoleHost(settings: Pick<PlatformSettings, 'appsDomain'>): string {
  return `console.${settings.appsDomain}`;
}
