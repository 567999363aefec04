import { usageFailure } from './failure.ts';
import { text, texts, toggle, negated, type FlagValues } from './flags.ts';
import { readMount, readVariable } from './key-values.ts';

/** For `create`; `env set` changes variables later. */
export const variableFlag = { env: texts('<NAME=value>', 'environment variable; ${NAME} refers to another one') };

/** For `create` and `update`: the limits and volumes of pods. */
export const podFlags = (defaults: { memory: string }) => ({
  memory: text('<quantity>', `memory limit, such as 512Mi (default: ${defaults.memory})`),
  cpu: text('<quantity>', 'CPU limit, such as 500m (default: none)'),
  volume: texts('<name:/path>', 'volume and mount path'),
});

/** For `update`: resets settings. */
export const podRemovalFlags = {
  defaultMemory: toggle('reset the memory limit'),
  defaultCpu: toggle('remove the CPU limit'),
  volumes: negated('unmount all volumes'),
};

type PodFlags = FlagValues<ReturnType<typeof podFlags>> &
  Partial<FlagValues<typeof podRemovalFlags & typeof variableFlag>>;

/** The fields of a request body for the flags. @throws Failure (usage) */
export function podSettingsBody(flags: PodFlags): Record<string, unknown> {
  const { memory, cpu, volume, env = [] } = flags;
  checkExclusive('memory', memory !== undefined, flags.defaultMemory);
  checkExclusive('cpu', cpu !== undefined, flags.defaultCpu);
  checkExclusive('volume', volume.length > 0, flags.volumes === false);
  return {
    ...(memory !== undefined && { memory }),
    ...(cpu !== undefined && { cpu }),
    ...(volume.length > 0 && { volumes: volume.map(readMount) }),
    ...(env.length > 0 && { env: Object.fromEntries(env.map((typed) => readVariable(typed))) }),
    ...(flags.defaultMemory && { memory: null }),
    ...(flags.defaultCpu && { cpu: null }),
    ...(flags.volumes === false && { volumes: [] }),
  };
}

/** @throws Failure (usage) for a setting that is set and removed at once */
export function checkExclusive(flag: string, isSet: boolean, removed = false): void {
  if (isSet && removed) throw usageFailure(`You cannot set and remove ${flag} in one command.`);
}
