import type { Stored } from '../contracts/kubernetes.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import { settingsInForce } from '../contracts/resources/platform-config-check.ts';
import {
  platformConfigName,
  type PlatformConfig,
  type PlatformConfigSpec,
} from '../contracts/resources/platform-config.ts';
import type { EnvironmentLimits } from '../contracts/resources/project.ts';
import { Problem } from '../domain/problem.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { hostTaken } from './create.ts';

/** The PlatformConfig object and the active settings. */
export interface StoredSettings {
  config: Stored<PlatformConfig>;
  settings: PlatformConfigSpec;
}

/** @throws Problem `unavailable` before `svc install` has written any settings */
export async function readSettings(kube: Pick<KubeClient, 'get'>): Promise<StoredSettings> {
  const config = await kube.get<PlatformConfig>(kinds.PlatformConfig, platformConfigName);
  const settings = settingsInForce(config);
  if (config && settings) return { config, settings };
  throw new Problem('unavailable', 'The platform has no valid PlatformConfig; run `svc install` again.');
}

/** Reads the active settings. @throws Problem `unavailable` before `svc install` has written any */
export async function readPlatformConfig(kube: Pick<KubeClient, 'get'>): Promise<PlatformConfigSpec> {
  return (await readSettings(kube)).settings;
}

/** Reads the active settings; undefined before there are any. */
export async function readSettingsIfAny(kube: Pick<KubeClient, 'get'>): Promise<PlatformConfigSpec | undefined> {
  return settingsInForce(await kube.get<PlatformConfig>(kinds.PlatformConfig, platformConfigName));
}

/** Reads the installation's default limits for environments; undefined without any, and before there are settings. */
export async function readDefaultLimits(kube: Pick<KubeClient, 'get'>): Promise<EnvironmentLimits | undefined> {
  return (await readSettingsIfAny(kube))?.defaultLimits;
}

/** Refuses the platform's own hosts. @throws Problem `host_taken` */
export function checkHostFree({ appsDomain }: Pick<PlatformConfigSpec, 'appsDomain'>, host: string): void {
  if (host === `console.${appsDomain}`) throw hostTaken(host);
}
