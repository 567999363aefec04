import type { PlatformConfigUpdate } from '../../runtime/contracts/api/platform.ts';
import {
  checkPlatformConfig,
  newestGoodSettings,
  settingsInForce,
} from '../../runtime/contracts/resources/platform-config-check.ts';
import type { PlatformConfig, PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { readSettings, type StoredSettings } from '../../runtime/host/platform-config.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';

/** Writers of the settings that come between read and write; more than this is not two people. */
const maxTries = 5;

/**
 * Changes the settings, all of it or nothing. An edit that was refused before is replaced by what is in force with the
 * change.
 * @throws Problem `invalid_value` that names every bad setting, `unavailable`, and `conflict` when others keep changing them
 */
export async function changeSettings(
  kube: Pick<KubeClient, 'get' | 'replace'>,
  change: PlatformConfigUpdate,
): Promise<StoredSettings> {
  for (let attempt = 1; ; attempt++) {
    const { config, settings } = await readSettings(kube);
    const checked = checkPlatformConfig(changed(newestGoodSettings(config) ?? settings, change), settings);
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
      if (!isKubeError(error, 409) || attempt === maxTries) throw error;
    }
  }
}

/** What is named is set, and null goes back to the default. */
function changed(settings: PlatformConfigSpec, { defaultLimits, ...others }: PlatformConfigUpdate): object {
  const limits = defaultLimits && withoutNulls({ ...settings.defaultLimits, ...defaultLimits });
  return withoutNulls({ ...settings, ...others, ...(defaultLimits !== undefined && { defaultLimits: limits }) });
}

function withoutNulls(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));
}
