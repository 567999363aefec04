import type { AppView } from '../../../../runtime/contracts/api/apps.ts';
import { commandLine, commandWords } from '../workloads/command-lines.ts';
import { filledLines } from '../parts/lines.ts';
import { mountLines, mountsOf } from '../workloads/mounts.ts';

/** The settings of an app's pods, and of its security headers, in the order of the forms. */
export const settingGroups = {
  pods: ['port', 'replicas', 'memory', 'cpu', 'healthPath', 'releaseCommand', 'volumes', 'autoRollback'],
  security: ['headers', 'csp'],
} as const;

export type SettingGroup = keyof typeof settingGroups;
export type SettingName = (typeof settingGroups)[SettingGroup][number];

/** Settings as texts: lists with an item on each line, switches as `on` and `off`. The API checks them. */
export type SettingTexts = Readonly<Record<SettingName, string>>;

const switchText = (isOn: boolean) => (isOn ? 'on' : 'off');

/** The only domain of a policy that allows no others. */
const onlySelf = 'self';

/** The settings of an app as the forms show them. */
export function settingTexts({ security: { headers, csp }, ...app }: AppView): SettingTexts {
  return {
    port: String(app.port),
    replicas: String(app.replicas),
    memory: app.memory ?? '',
    cpu: app.cpu ?? '',
    healthPath: app.healthPath ?? '',
    releaseCommand: (app.releaseCommand ?? []).join('\n'),
    volumes: mountLines(app.volumes),
    autoRollback: switchText(app.autoRollback),
    headers: switchText(headers),
    csp: csp === null ? '' : csp.length === 0 ? onlySelf : csp.join('\n'),
  };
}

/** The settings that differ. */
export function changedSettings(group: SettingGroup, before: SettingTexts, after: SettingTexts): SettingName[] {
  return settingGroups[group].filter((name) => before[name].trim() !== after[name].trim());
}

function valueOf(name: SettingName, text: string): unknown {
  const written = text.trim();
  if (name === 'port' || name === 'replicas') return Number(written);
  if (name === 'autoRollback' || name === 'headers') return written === 'on';
  if (name === 'volumes') return mountsOf(written);
  if (written === '') return null;
  if (name === 'releaseCommand') return commandWords(text);
  if (name === 'csp') return written === onlySelf ? [] : filledLines(written);
  return written;
}

/** The settings as the API has them; those of the security headers are in one of its own. */
function bodyOf(names: readonly SettingName[], texts: SettingTexts): Record<string, unknown> {
  const entries = names.map((name) => [name, valueOf(name, texts[name])] as const);
  const isSecurity = (name: SettingName) => (settingGroups.security as readonly string[]).includes(name);
  const security = Object.fromEntries(entries.filter(([name]) => isSecurity(name)));
  return {
    ...Object.fromEntries(entries.filter(([name]) => !isSecurity(name))),
    ...(Object.keys(security).length > 0 && { security }),
  };
}

/**
 * The body of the request that sets what differs from what the form showed first, and no other settings: what others change
 * stays. It names what it replaces.
 * @param seen the settings that the user has seen last
 */
export function changeBody(
  group: SettingGroup,
  before: SettingTexts,
  after: SettingTexts,
  seen: SettingTexts,
): Record<string, unknown> {
  const changed = changedSettings(group, before, after);
  const replaced = group === 'security' ? settingGroups.security : changed;
  return { ...bodyOf(changed, after), replaces: bodyOf(replaced, seen) };
}

const flags = {
  port: '--port',
  replicas: '--replicas',
  memory: '--memory',
  cpu: '--cpu',
  healthPath: '--health-path',
  autoRollback: '--auto-rollback',
  headers: '--headers',
} as const;
const resets: Readonly<Partial<Record<SettingName, string>>> = {
  memory: '--default-memory',
  cpu: '--default-cpu',
  healthPath: '--default-health-path',
  volumes: '--no-volumes',
  releaseCommand: '--remove-release-command',
};

function flagsOf(name: SettingName, text: string): string[] {
  const written = text.trim();
  if (name === 'csp') {
    return written === '' ? ['--csp', 'none'] : filledLines(written).flatMap((domain) => ['--csp', domain]);
  }
  if (written === '' && resets[name] !== undefined) return [resets[name]];
  if (name === 'volumes') return filledLines(written).flatMap((line) => ['--volume', line]);
  if (name === 'releaseCommand') {
    return ['--release-command', commandLine(commandWords(text))];
  }
  return [flags[name], written];
}

/** The words of the command that makes the same change; without one, of the command that shows the settings. */
export function changeWords(app: string, group: SettingGroup, before: SettingTexts, after: SettingTexts): string[] {
  const changed = changedSettings(group, before, after).flatMap((name) => flagsOf(name, after[name]));
  if (group === 'security') return ['app', 'security', changed.length === 0 ? 'show' : 'set', app, ...changed];
  return ['app', changed.length === 0 ? 'show' : 'update', app, ...changed];
}
