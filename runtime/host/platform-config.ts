import { kinds } from '../contracts/resources/kinds.ts';
import {
  platformConfigName,
  platformConfigSpec,
  type PlatformConfig,
  type PlatformConfigSpec,
} from '../contracts/resources/platform-config.ts';
import { Problem } from '../domain/problem.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { hostTaken } from './workload-create.ts';

/** The installation's settings. @throws Problem `unavailable` when `svc install` has not written them yet */
export async function readPlatformConfig(kube: KubeClient): Promise<PlatformConfigSpec> {
  const config = await kube.get<PlatformConfig>(kinds.PlatformConfig, platformConfigName);
  const parsed = platformConfigSpec.safeParse(config?.spec);
  if (!parsed.success) {
    throw new Problem('unavailable', 'The platform has no usable PlatformConfig; run `svc install` again.', {
      cause: parsed.error,
    });
  }
  return parsed.data;
}

/** Refuses the hosts on which the platform itself answers. @throws Problem `host_taken` */
export function checkHostFree({ appsDomain }: PlatformConfigSpec, host: string): void {
  if (host === `console.${appsDomain}`) throw hostTaken(host);
}
