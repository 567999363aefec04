import { parseCertificates } from '../../domain/certificates.ts';
import { checkHost, checkProjectName, functionHost } from '../../domain/names.ts';
import { isLoopbackNetwork, isPrivateNetwork, parseNetwork } from '../../domain/network.ts';
import { Problem } from '../../domain/problem.ts';
import { limitFaults } from './environment-limits.ts';
import { monitoringFaults } from './monitoring.ts';
import { platformConfigSpec, type PlatformConfig, type PlatformConfigSpec } from './platform-config.ts';

/** An invalid setting. */
export interface SettingFault {
  /** The path of the setting, such as `trustedProxies.0`. */
  path: string;
  message: string;
}

export type CheckedPlatformConfig = { spec: PlatformConfigSpec } | { faults: SettingFault[] };

/**
 * Checks all settings of the installation and reports every fault. Valid networks and CA certificates are normalised.
 * @param active the active settings. Their apps domain and cluster name cannot change: they are part of hosts, which
 * others know and for which DNS records and certificates exist
 */
export function checkPlatformConfig(spec: unknown, active?: PlatformConfigSpec): CheckedPlatformConfig {
  const parsed = platformConfigSpec.safeParse(spec);
  const issues = parsed.success ? [] : parsed.error.issues;
  const mistyped = new Set(issues.map(({ path }) => path.join('.')));
  // Settings of the right type are checked even if others are not, so that one response reports every fault.
  const settings = parsed.success ? parsed.data : without(spec, mistyped);
  const proxies = networksOf('trustedProxies', settings, matchesAll);
  const open = networksOf('allowPrivateNetworks', settings, notPrivate);
  const notified = networksOf('notificationNetworks', settings, notLocal);
  const { caCertificates } = settings;
  const trusted = caCertificates === undefined ? undefined : parseCertificates(caCertificates);
  const faults = [
    ...issues.map(({ path, message }) => ({ path: path.join('.'), message })),
    ...hostFaults(settings),
    ...domainFaults(settings),
    ...warmFaults(settings),
    ...(active ? changeFaults(active, settings) : []),
    ...proxies.faults,
    ...open.faults,
    ...notified.faults,
    ...(trusted && 'fault' in trusted ? [{ path: 'caCertificates', message: trusted.fault }] : []),
    ...limitFaults(settings.defaultLimits).map(({ field, message }) => ({ path: `defaultLimits.${field}`, message })),
    ...limitFaults(settings.maxLimits).map(({ field, message }) => ({ path: `maxLimits.${field}`, message })),
    ...monitoringFaults(settings.monitoring).map(({ path, message }) => ({ path: `monitoring.${path}`, message })),
  ];
  if (!parsed.success || faults.length > 0) return { faults };
  return {
    spec: {
      ...parsed.data,
      ...proxies.settings,
      ...open.settings,
      ...notified.settings,
      ...(trusted && 'certificates' in trusted && { caCertificates: trusted.certificates }),
    },
  };
}

/** All faults as one text, each with its path. */
export function faultsText(faults: readonly SettingFault[]): string {
  return faults.map(({ path, message }) => `${path}: ${message}`).join('; ');
}

/**
 * The active settings: the last that the PlatformConfig controller accepted, or those of the spec if it has not checked
 * any yet and they are valid. Undefined if there are none.
 */
export function settingsInForce(config: PlatformConfig | undefined): PlatformConfigSpec | undefined {
  if (!config) return undefined;
  // An object of a copy is the same for many requests.
  if (!Object.isFrozen(config)) return parsedSettings(config);
  let settings = parsed.get(config);
  if (!settings) parsed.set(config, (settings = { spec: parsedSettings(config) }));
  return settings.spec;
}

/** The settings of frozen objects. */
const parsed = new WeakMap<PlatformConfig, { spec: PlatformConfigSpec | undefined }>();

function parsedSettings(config: PlatformConfig): PlatformConfigSpec | undefined {
  const accepted = platformConfigSpec.safeParse(config.status?.accepted?.spec);
  if (accepted.success) return accepted.data;
  const checked = checkPlatformConfig(config.spec);
  return 'spec' in checked ? checked.spec : undefined;
}

/** A copy of an object without the fields at `paths`, and without arrays that contain one; {} for anything else. */
function without(value: unknown, paths: ReadonlySet<string>, prefix = ''): Partial<PlatformConfigSpec> {
  if (typeof value !== 'object' || value === null) return {};
  const remaining = Object.entries(value).flatMap(([name, field]: [string, unknown]) => {
    const path = `${prefix}${name}`;
    if (paths.has(path)) return [];
    if (![...paths].some((bad) => bad.startsWith(`${path}.`))) return [[name, field] as const];
    return Array.isArray(field) ? [] : [[name, without(field, paths, `${path}.`)] as const];
  });
  return Object.fromEntries(remaining);
}

/** The spec's settings if they are valid, else the active ones: the base of the next change. */
export function newestGoodSettings(config: PlatformConfig | undefined): PlatformConfigSpec | undefined {
  const inForce = settingsInForce(config);
  const written = checkPlatformConfig(config?.spec, inForce);
  return 'spec' in written ? written.spec : inForce;
}

/** Checks that the apps domain and the cluster name make valid hosts. */
function hostFaults({ appsDomain, cluster }: Partial<PlatformConfigSpec>): SettingFault[] {
  if (appsDomain === undefined) return [];
  const domain = refusal('appsDomain', () => checkHost(appsDomain));
  if (domain.length > 0 || cluster === undefined) return domain;
  return refusal('cluster', () => functionHost('x', cluster, appsDomain));
}

/** Checks the domains in which projects may choose hosts. */
function domainFaults({ hostDomains = [] }: Partial<PlatformConfigSpec>): SettingFault[] {
  return hostDomains.flatMap(({ domain, projects = [] }, index) => [
    ...refusal(`hostDomains.${index}.domain`, () => checkHost(domain)),
    ...projects.flatMap((project, at) =>
      refusal(`hostDomains.${index}.projects.${at}`, () => checkProjectName(project)),
    ),
  ]);
}

/** Checks that there are generic pods where they can wait. */
function warmFaults({ warmPods = 0, monitoring }: Partial<PlatformConfigSpec>): SettingFault[] {
  if (warmPods === 0 || monitoring?.mode !== 'embedded') return [];
  return [{ path: 'warmPods', message: 'the embedded cluster has no generic pods; only 0 is possible' }];
}

function refusal(path: string, check: () => unknown): SettingFault[] {
  try {
    check();
    return [];
  } catch (error) {
    if (error instanceof Problem) return [{ path, message: error.message }];
    throw error;
  }
}

function changeFaults(before: PlatformConfigSpec, now: Partial<PlatformConfigSpec>): SettingFault[] {
  return (['appsDomain', 'cluster'] as const).flatMap((path) => {
    if (now[path] === undefined || now[path] === before[path]) return [];
    const message = `"${before[path]}" cannot be changed to "${now[path]}": the hosts of apps and functions contain it`;
    return [{ path, message }];
  });
}

function networksOf<Field extends 'trustedProxies' | 'allowPrivateNetworks' | 'notificationNetworks'>(
  field: Field,
  spec: Partial<PlatformConfigSpec>,
  faultOf: (network: string) => string | undefined,
): { faults: SettingFault[]; settings: { [Key in Field]?: string[] } } {
  const networks: string[] = [];
  const faults: SettingFault[] = [];
  (spec[field] ?? []).forEach((text, index) => {
    const parsed = parseNetwork(text);
    const fault = 'fault' in parsed ? parsed.fault : faultOf(parsed.network);
    if (fault !== undefined) faults.push({ path: `${field}.${index}`, message: fault });
    else if ('network' in parsed && !networks.includes(parsed.network)) networks.push(parsed.network);
  });
  const settings: { [Key in Field]?: string[] } = {};
  if (spec[field]) settings[field] = networks;
  return { faults, settings };
}

/** A trusted proxy that any client can be would let every client choose its address. */
function matchesAll(network: string): string | undefined {
  return network.endsWith('/0') ? `"${network}" matches all addresses; list only your proxies` : undefined;
}

function notPrivate(network: string): string | undefined {
  if (isPrivateNetwork(network)) return undefined;
  return `"${network}" is not a private network. Pods can always reach the internet, and never link-local addresses; list private networks only`;
}

function notLocal(network: string): string | undefined {
  if (isPrivateNetwork(network) || isLoopbackNetwork(network)) return undefined;
  return `"${network}" is not a private network. Notifications can always reach the internet, and never link-local addresses; list private networks only`;
}
