import type { PlatformConfigView } from '../../../../runtime/contracts/api/platform.ts';
import { filledLines } from '../parts/lines.ts';

type Kind = 'text' | 'number' | 'seconds' | 'list' | 'domains' | 'switch';

/** A setting: where the API has it, and the flag of `svc platform config set`. An empty text restores its default. */
export interface Setting {
  /** The path in the body, such as `maxLimits.cpu`. */
  path: string;
  kind: Kind;
  flag: string;
  /** Of a list: the flag that empties it. */
  clear?: string;
}

const text = (path: string, flag: string, kind: Kind = 'text'): Setting => ({ path, kind, flag });
const list = (path: string, flag: string, clear: string, kind: Kind = 'list'): Setting => ({ path, kind, flag, clear });

/** The settings that the API lets platform admins change, in groups that are edited together. */
export const settingGroups = {
  size: [
    text('profile', '--profile'),
    text('projectsPerUser', '--projects-per-user', 'number'),
    text('warmPods', '--warm-pods', 'number'),
  ],
  defaultLimits: [
    text('defaultLimits.cpu', '--cpu'),
    text('defaultLimits.memory', '--memory'),
    text('defaultLimits.storage', '--storage'),
    text('defaultLimits.pods', '--pods', 'number'),
    text('defaultLimits.containerMemory', '--container-memory'),
  ],
  maxLimits: [
    text('maxLimits.cpu', '--max-cpu'),
    text('maxLimits.memory', '--max-memory'),
    text('maxLimits.storage', '--max-storage'),
    text('maxLimits.pods', '--max-pods', 'number'),
    text('maxLimits.containerMemory', '--max-container-memory'),
  ],
  networks: [
    list('trustedProxies', '--trusted-proxy', '--no-trusted-proxies'),
    list('allowPrivateNetworks', '--allow-private-network', '--no-private-networks'),
    list('notificationNetworks', '--notification-network', '--no-notification-networks'),
  ],
  hosts: [
    list('hostDomains', '--host-domain', '--no-host-domains', 'domains'),
    text('hostProofs', '--host-proofs', 'switch'),
  ],
  registries: [
    text('packageRegistries.npm', '--npm-registry'),
    text('packageRegistries.pypi', '--pypi-index'),
    text('packageRegistries.go', '--go-proxy'),
  ],
  serviceImages: [
    text('serviceImages.postgres', '--image-postgres'),
    text('serviceImages.mysql', '--image-mysql'),
    text('serviceImages.redis', '--image-redis'),
    text('serviceImages.minio', '--image-minio'),
    text('serviceImages.mongodb', '--image-mongodb'),
  ],
  builds: [
    text('builds.atOnce', '--builds-at-once', 'number'),
    text('builds.timeoutSeconds', '--build-timeout', 'seconds'),
    text('builds.keepImages', '--keep-images', 'number'),
    list('builds.gitNetworks', '--git-network', '--no-git-networks'),
  ],
} as const satisfies Readonly<Record<string, readonly Setting[]>>;

export type SettingGroup = keyof typeof settingGroups;

interface HostDomain {
  domain: string;
  projects?: readonly string[];
}

function settingOf(config: PlatformConfigView, path: string): unknown {
  let value: unknown = config;
  for (const part of path.split('.')) value = (value as Record<string, unknown> | undefined)?.[part];
  return value;
}

/** The setting as a form shows it: a list has one item on each line. */
export function settingText(config: PlatformConfigView, { path, kind }: Setting): string {
  const value = settingOf(config, path);
  if (value === undefined) return '';
  if (kind === 'switch') return value === true ? 'on' : 'off';
  if (kind === 'list') return (value as string[]).join('\n');
  if (kind === 'domains') {
    const domains = value as readonly HostDomain[];
    return domains.map(({ domain, projects }) => (projects ? `${domain}=${projects.join(',')}` : domain)).join('\n');
  }
  return typeof value === 'number' ? String(value) : typeof value === 'string' ? value : '';
}

function valueOf(written: string, kind: Kind): unknown {
  if (kind === 'list') return filledLines(written);
  if (kind === 'domains') {
    return filledLines(written).map((line): HostDomain => {
      const [domain = '', ...rest] = line.split('=').map((part) => part.trim());
      // The API refuses a second equals sign, as part of a name.
      const projects = rest.join('=').split(',');
      return { domain, ...(rest.length > 0 && { projects: projects.map((name) => name.trim()) }) };
    });
  }
  const trimmed = written.trim();
  if (trimmed === '') return null;
  if (kind === 'switch') return trimmed === 'on';
  return kind === 'text' ? trimmed : Number(trimmed);
}

function flagsOf(written: string, { kind, flag, clear = '' }: Setting): string[] {
  const lines = kind === 'domains' ? filledLines(written.replaceAll(/[ \t]/g, '')) : filledLines(written);
  if (kind === 'list' || kind === 'domains')
    return lines.length === 0 ? [clear] : lines.flatMap((line) => [flag, line]);
  return [flag, lines.length === 0 ? 'default' : kind === 'seconds' ? `${written.trim()}s` : written.trim()];
}

/** An object with these values at these paths, such as `maxLimits.cpu`. */
function byPath(values: readonly (readonly [path: string, value: unknown])[]): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const [path, value] of values) {
    const [first = '', second] = path.split('.');
    object[first] = second === undefined ? value : { ...(object[first] as object | undefined), [second]: value };
  }
  return object;
}

/** The settings that are others in `seen` than what a form showed first. Pure. @param before by path */
export function changedMeanwhile<Item extends Setting>(
  settings: readonly Item[],
  before: Readonly<Record<string, string>>,
  seen: PlatformConfigView,
): Item[] {
  return settings.filter((setting) => settingText(seen, setting) !== before[setting.path]);
}

/**
 * What has to be sent so that the settings are what a form says: only those that differ from what it showed first, so that
 * what others change meanwhile stays. A list is sent as a whole, with the list that it replaces. Pure.
 * @param before by path @param after by path
 * @param seen the settings that the user has seen last
 * @returns the body of the request, and the flags of the command that does the same
 */
export function settingsChange(
  settings: readonly Setting[],
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
  seen: PlatformConfigView,
): { body: Record<string, unknown>; flags: string[] } {
  const changed = settings.filter(({ path }) => (after[path] ?? '').trim() !== (before[path] ?? '').trim());
  const lists = changed.filter(({ kind }) => kind === 'list' || kind === 'domains');
  const body = byPath(changed.map(({ path, kind }) => [path, valueOf(after[path] ?? '', kind)]));
  const replaces = byPath(lists.map(({ path }) => [path, settingOf(seen, path)]));
  return {
    body: { ...body, ...(lists.length > 0 && { replaces }) },
    flags: changed.flatMap((setting) => flagsOf(after[setting.path] ?? '', setting)),
  };
}
