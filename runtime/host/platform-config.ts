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
import { hostTaken } from './workload-create.ts';

/** The object that holds the installation's settings, and those in force. */
export interface StoredSettings {
  config: Stored<PlatformConfig>;
  settings: PlatformConfigSpec;
}

/** @throws Problem `unavailable` when `svc install` has not written any settings yet */
export async function readSettings(kube: Pick<KubeClient, 'get'>): Promise<StoredSettings> {
  const config = await kube.get<PlatformConfig>(kinds.PlatformConfig, platformConfigName);
  const settings = settingsInForce(config);
  if (config && settings) return { config, settings };
  throw new Problem('unavailable', 'The platform has no usable PlatformConfig; run `svc install` again.');
}

/** The settings in force. @throws Problem `unavailable` when `svc install` has not written any yet */
export async function readPlatformConfig(kube: Pick<KubeClient, 'get'>): Promise<PlatformConfigSpec> {
  return (await readSettings(kube)).settings;
}

/** The limits of environments that set none, as far as the installation sets them; none before there are settings. */
export async function readDefaultLimits(kube: Pick<KubeClient, 'get'>): Promise<EnvironmentLimits | undefined> {
  const config = await kube.get<PlatformConfig>(kinds.PlatformConfig, platformConfigName);
  return settingsInForce(config)?.defaultLimits;
}

/** Refuses the hosts on which the platform itself answers. @throws Problem `host_taken` */
export function checkHostFree({ appsDomain }: PlatformConfigSpec, host: string): void {
  if (host === `console.${appsDomain}`) throw hostTaken(host);
}
