import type { Platform } from '../platform.ts';
import { clusterTarget } from './cluster.ts';
import { localTarget } from './local.ts';
import type { Target } from './target-types.ts';

/** The machine below the running platform. */
export function targetOf(platform: Platform): Target {
  return platform.info.target === 'local' ? localTarget(platform) : clusterTarget(platform);
}
