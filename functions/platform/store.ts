import { isDeepStrictEqual } from 'node:util';
import type { PlatformConfigUpdate } from '../../runtime/contracts/api/platform.ts';
import {
  checkPlatformConfig,
  newestGoodSettings,
  settingsInForce,
} from '../../runtime/contracts/resources/platform-config-check.ts';
import type { PlatformConfig, PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import { checkImage } from '../../runtime/domain/image.ts';
import { parseNetwork } from '../../runtime/domain/network.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { readSettings, type StoredSettings } from '../../runtime/workloads/platform-config.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';

/** Attempts before a change fails because of concurrent changes. */
const maxAttempts = 5;

/** The settings that a request changes. */
export type SettingsChange = Omit<PlatformConfigUpdate, 'replaces'>;

/** The lists that a request expects to replace. */
type ExpectedLists = NonNullable<PlatformConfigUpdate['replaces']>;

/**
 * Changes the settings, all or none. The change applies to the active settings, so that it replaces a rejected edit.
 * @param replaces lists that have to be like this when the change is written
 * @throws Problem `invalid_value` that names every bad setting, `unavailable`, and `conflict` when a list of `replaces`
 * is another one now, or after repeated concurrent changes
 */
export function changeSettings(
  kube: Pick<KubeClient, 'get' | 'replace'>,
  change: SettingsChange,
  replaces: ExpectedLists = {},
): Promise<StoredSettings> {
  return writeSettings(kube, (settings) => {
    checkUnchanged(settings, replaces);
    return changed(settings, change);
  });
}

/** @throws Problem `conflict` that names the lists that are others now */
function checkUnchanged(settings: PlatformConfigSpec, { builds, ...lists }: ExpectedLists): void {
  const names = ['trustedProxies', 'allowPrivateNetworks', 'notificationNetworks', 'hostDomains'] as const;
  const other = names.filter((name) => isOther(lists[name], settings[name]));
  const all = [...other, ...(isOther(builds?.gitNetworks, settings.builds?.gitNetworks) ? ['builds.gitNetworks'] : [])];
  if (all.length === 0) return;
  const message = `Another request changed ${all.join(', ')} in the meantime. Show the settings with \`svc platform config show\`.`;
  throw new Problem('conflict', message, { details: { settings: all } });
}

function isOther(expected: readonly unknown[] | undefined, current: readonly unknown[] = []): boolean {
  return expected !== undefined && !isDeepStrictEqual(expected, current);
}

/**
 * Stores what `change` makes of the active settings.
 * @param change may throw a Problem @throws as {@link changeSettings}
 */
export async function writeSettings(
  kube: Pick<KubeClient, 'get' | 'replace'>,
  change: (settings: PlatformConfigSpec, config: PlatformConfig) => object,
): Promise<StoredSettings> {
  for (let attempt = 1; ; attempt++) {
    const { config, settings } = await readSettings(kube);
    const checked = checkPlatformConfig(change(newestGoodSettings(config) ?? settings, config), settings);
    if ('faults' in checked) {
      const [first] = checked.faults;
      throw new Problem('invalid_value', `The settings are not valid: ${first?.path}: ${first?.message}`, {
        details: { issues: checked.faults },
      });
    }
    try {
      const stored = await kube.replace<PlatformConfig>({ ...config, spec: checked.spec });
      return { config: stored, settings: settingsInForce(stored) ?? checked.spec };
    } catch (error) {
      if (!isKubeError(error, 409) || attempt === maxAttempts) throw error;
    }
  }
}

/** Settings with fields. A change replaces only the fields that it contains. */
const objectSettings = ['defaultLimits', 'maxLimits', 'serviceImages', 'packageRegistries', 'builds'] as const;

/**
 * Applies a change; null resets a setting to its default.
 * @throws Problem `invalid_value` for a setting that only `svc install` can change, an invalid image or an invalid network
 */
function changed(settings: PlatformConfigSpec, change: SettingsChange): object {
  if (change.builds && !settings.builds) {
    throw invalid(
      'builds',
      'Builds are not configured. Configure them first: svc install --image-builder --build-registry.',
    );
  }
  for (const [type, image] of Object.entries(change.serviceImages ?? {})) {
    if (typeof image === 'string') checkImage(image, `serviceImages.${type}`);
  }
  const parts = objectSettings.flatMap((name) => {
    const fields = name === 'builds' ? checkedBuilds(change.builds) : change[name];
    return fields === undefined ? [] : [[name, fields && withoutNulls({ ...settings[name], ...fields })]];
  });
  return withoutNulls({ ...settings, ...change, ...Object.fromEntries(parts) });
}

function checkedBuilds(builds: PlatformConfigUpdate['builds']): PlatformConfigUpdate['builds'] {
  if (!builds?.gitNetworks) return builds;
  const gitNetworks = builds.gitNetworks.map((text, at) => {
    const parsed = parseNetwork(text);
    if ('fault' in parsed) throw invalid(`builds.gitNetworks.${at}`, parsed.fault);
    return parsed.network;
  });
  return { ...builds, gitNetworks: [...new Set(gitNetworks)] };
}

function invalid(field: string, message: string): Problem {
  return new Problem('invalid_value', message, { details: { field } });
}

function withoutNulls(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));
}
