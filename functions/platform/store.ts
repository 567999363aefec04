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

/** Settings that have parts of their own, each of which is set or taken back. */
const composed = ['defaultLimits', 'serviceImages', 'packageRegistries', 'builds'] as const;

/**
 * What is named is set, and null goes back to the default.
 * @throws Problem `invalid_value` for what only `svc install` can give, and for what is no image or network
 */
function changed(settings: PlatformConfigSpec, change: PlatformConfigUpdate): object {
  if (change.builds && !settings.builds) {
    throw invalid(
      'builds',
      'The installation builds nothing; give it a builder first: svc install --image-builder --build-registry.',
    );
  }
  for (const [type, image] of Object.entries(change.serviceImages ?? {})) {
    if (typeof image === 'string') checkImage(image, `serviceImages.${type}`);
  }
  const parts = composed.flatMap((name) => {
    const given = name === 'builds' ? checkedBuilds(change.builds) : change[name];
    return given === undefined ? [] : [[name, given && withoutNulls({ ...settings[name], ...given })]];
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
