import {
  functionMemory,
  functionReplicasMax,
  idleTimeoutMaxSeconds,
  requestTimeoutMaxSeconds,
  targetRateMax,
} from '../../runtime/contracts/resources/function.ts';
import { amount, duration, text, toggle, type FlagValues } from '../flags.ts';
import { checkExclusive, podFlags, podRemovalFlags, podSettingsBody } from '../pod-settings.ts';
import { sourceRemovalFlags } from './function-source.ts';
import { triggerBody, triggerFlags, triggerRemovalFlags } from './function-trigger.ts';

/** For `create` and `update`. */
export const settingFlags = {
  ...triggerFlags,
  port: amount('<port>', 'port that the function listens on (default 8080)', { min: 1, max: 65_535 }),
  hostname: text('<host>', 'public host (default fn-<function>--<cluster>.<apps domain>, longer if taken)'),
  idleTimeout: duration('<duration>', 'idle time before scaling to zero, up to 1d (default 5m; events 30s)', {
    max: idleTimeoutMaxSeconds,
  }),
  concurrency: amount('<n>', 'concurrent requests per pod (default 100)', { min: 1, max: 1_000 }),
  targetRate: amount('<n>', 'requests per second of one pod (default 200)', { min: 1, max: targetRateMax }),
  requestTimeout: duration('<duration>', 'time to the start of the response, up to 1h (default 5m)', {
    max: requestTimeoutMaxSeconds,
  }),
  minReplicas: amount('<n>', 'minimum number of pods (default 0)', { min: 0, max: functionReplicasMax }),
  maxReplicas: amount('<n>', 'maximum number of pods (default 10)', { min: 1, max: functionReplicasMax }),
  ...podFlags({ memory: functionMemory }),
};

/** For `update`: resets settings. */
export const removalFlags = {
  ...sourceRemovalFlags,
  defaultHostname: toggle('reset the public host'),
  ...podRemovalFlags,
  ...triggerRemovalFlags,
};

/** The fields of a request body for the flags. @throws Failure (usage) for a setting that is set and removed at once */
export function settingsBody(flags: FlagValues<typeof settingFlags> & Partial<FlagValues<typeof removalFlags>>) {
  checkExclusive('hostname', flags.hostname !== undefined, flags.defaultHostname);
  return {
    ...podSettingsBody(flags),
    ...triggerBody(flags),
    ...(flags.port !== undefined && { port: flags.port }),
    ...(flags.hostname !== undefined && { hostname: flags.hostname }),
    ...(flags.defaultHostname && { hostname: null }),
    ...(flags.idleTimeout !== undefined && { idleTimeoutSeconds: flags.idleTimeout }),
    ...(flags.concurrency !== undefined && { concurrency: flags.concurrency }),
    ...(flags.targetRate !== undefined && { targetRate: flags.targetRate }),
    ...(flags.requestTimeout !== undefined && { requestTimeoutSeconds: flags.requestTimeout }),
    ...(flags.minReplicas !== undefined && { minReplicas: flags.minReplicas }),
    ...(flags.maxReplicas !== undefined && { maxReplicas: flags.maxReplicas }),
  };
}
