import { checkHost, functionHost } from '../../domain/names.ts';
import { isLoopbackNetwork, isPrivateNetwork, parseNetwork } from '../../domain/network.ts';
import { Problem } from '../../domain/problem.ts';
import { limitFaults } from './environment-limits.ts';
import { platformConfigSpec, type PlatformConfig, type PlatformConfigSpec } from './platform-config.ts';

/** What is wrong with one setting. */
export interface SettingFault {
  /** Where: `trustedProxies.0`. */
  path: string;
  message: string;
}

export type CheckedPlatformConfig = { spec: PlatformConfigSpec } | { faults: SettingFault[] };

/**
 * Judges the installation's settings as a whole: they are good, with networks in their one spelling and none twice, or
 * every fault of theirs is named.
 * @param inForce the settings so far, of which the apps domain and the cluster's name cannot change: hosts are made of
 * them, which others know and for which there are DNS records and certificates
 */
export function checkPlatformConfig(spec: unknown, inForce?: PlatformConfigSpec): CheckedPlatformConfig {
  const parsed = platformConfigSpec.safeParse(spec);
  const issues = parsed.success ? [] : parsed.error.issues;
  const shapeless = new Set(issues.map(({ path }) => path.join('.')));
  // What has the right shape is judged whatever else is wrong, so that one answer names it all.
  const shaped = parsed.success ? parsed.data : without(spec, shapeless);
  const proxies = networksOf('trustedProxies', shaped, everybody);
  const open = networksOf('allowPrivateNetworks', shaped, notPrivate);
  const notified = networksOf('notificationNetworks', shaped, notLocal);
  const faults = [
    ...issues.map(({ path, message }) => ({ path: path.join('.'), message })),
    ...hostFaults(shaped),
    ...(inForce ? changeFaults(inForce, shaped) : []),
    ...proxies.faults,
    ...open.faults,
    ...notified.faults,
    ...limitFaults(shaped.defaultLimits).map(({ field, message }) => ({ path: `defaultLimits.${field}`, message })),
  ];
  if (!parsed.success || faults.length > 0) return { faults };
  return { spec: { ...parsed.data, ...proxies.settings, ...open.settings, ...notified.settings } };
}

/** Faults as one text, each with its place. */
export function faultsText(faults: readonly SettingFault[]): string {
  return faults.map(({ path, message }) => `${path}: ${message}`).join('; ');
}

/**
 * The settings by which everything acts: the last that the PlatformConfig controller accepted, and before it has judged
 * any, those of the spec, if they are good. Undefined while there are none.
 */
export function settingsInForce(config: PlatformConfig | undefined): PlatformConfigSpec | undefined {
  if (!config) return undefined;
  const accepted = platformConfigSpec.safeParse(config.status?.accepted?.spec);
  if (accepted.success) return accepted.data;
  const checked = checkPlatformConfig(config.spec);
  return 'spec' in checked ? checked.spec : undefined;
}

/** The fields without those at some paths: of an object what is left, of everything else nothing. */
function without(value: unknown, paths: ReadonlySet<string>, prefix = ''): Partial<PlatformConfigSpec> {
  if (typeof value !== 'object' || value === null) return {};
  const kept = Object.entries(value).flatMap(([name, field]: [string, unknown]) => {
    const path = `${prefix}${name}`;
    if (paths.has(path)) return [];
    if (![...paths].some((bad) => bad.startsWith(`${path}.`))) return [[name, field] as const];
    return Array.isArray(field) ? [] : [[name, without(field, paths, `${path}.`)] as const];
  });
  return Object.fromEntries(kept);
}

/** The settings that were last written if they are good, and those in force else: what the next change changes. */
export function newestGoodSettings(config: PlatformConfig | undefined): PlatformConfigSpec | undefined {
  const inForce = settingsInForce(config);
  const written = checkPlatformConfig(config?.spec, inForce);
  return 'spec' in written ? written.spec : inForce;
}

/** That hosts can be made of the apps domain and the cluster's name. */
function hostFaults({ appsDomain, cluster }: Partial<PlatformConfigSpec>): SettingFault[] {
  if (appsDomain === undefined) return [];
  const domain = refusal('appsDomain', () => checkHost(appsDomain));
  if (domain.length > 0 || cluster === undefined) return domain;
  return refusal('cluster', () => functionHost('x', cluster, appsDomain));
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
    const message = `"${before[path]}" cannot become "${now[path]}": the hosts of apps and functions are made of it`;
    return [{ path, message }];
  });
}

function networksOf<Field extends 'trustedProxies' | 'allowPrivateNetworks' | 'notificationNetworks'>(
  field: Field,
  spec: Partial<PlatformConfigSpec>,
  judge: (network: string) => string | undefined,
): { faults: SettingFault[]; settings: { [Key in Field]?: string[] } } {
  const networks: string[] = [];
  const faults: SettingFault[] = [];
  (spec[field] ?? []).forEach((text, index) => {
    const parsed = parseNetwork(text);
    const fault = 'fault' in parsed ? parsed.fault : judge(parsed.network);
    if (fault !== undefined) faults.push({ path: `${field}.${index}`, message: fault });
    else if ('network' in parsed && !networks.includes(parsed.network)) networks.push(parsed.network);
  });
  const settings: { [Key in Field]?: string[] } = {};
  if (spec[field]) settings[field] = networks;
  return { faults, settings };
}

/** A proxy that everybody may be would let every client choose its address. */
function everybody(network: string): string | undefined {
  return network.endsWith('/0') ? `"${network}" is everybody; name the proxies only` : undefined;
}

function notPrivate(network: string): string | undefined {
  if (isPrivateNetwork(network)) return undefined;
  return `"${network}" lies in no private network; pods reach the internet anyway, and never link-local addresses`;
}

function notLocal(network: string): string | undefined {
  if (isPrivateNetwork(network) || isLoopbackNetwork(network)) return undefined;
  return `"${network}" is no private network; notifications reach the internet anyway, and never link-local addresses`;
}
