import { usageFailure } from './failure.ts';
import { text, texts, toggle, unless, type FlagValues } from './flags.ts';
import { readMount, readVariable } from './typed-values.ts';

/** Of `create` alone; later on there are commands for variables. */
export const variableFlag = {
  env: texts('<NAME=value>', 'environment variable, which may refer to others as ${NAME}'),
};

/** Of `create` and `update`: what pods may use and what they mount. */
export const podFlags = (defaults: { memory: string }) => ({
  memory: text('<quantity>', `memory limit, such as 512Mi (default: ${defaults.memory})`),
  cpu: text('<quantity>', 'CPU limit, such as 500m (default: none)'),
  volume: texts('<name:/path>', 'volume and where it is mounted'),
});

/** Of `update` alone: back to the default. */
export const podRemovalFlags = {
  defaultMemory: toggle('go back to the default memory limit'),
  defaultCpu: toggle('take the CPU limit away'),
  volumes: unless('mount no volume any more'),
};

type PodFlags = FlagValues<ReturnType<typeof podFlags>> &
  Partial<FlagValues<typeof podRemovalFlags & typeof variableFlag>>;

/** The part of a request's body that the flags make. @throws Failure (usage) */
export function podSettingsOf(flags: PodFlags): Record<string, unknown> {
  const { memory, cpu, volume, env = [] } = flags;
  notBoth('memory', memory !== undefined, flags.defaultMemory);
  notBoth('cpu', cpu !== undefined, flags.defaultCpu);
  notBoth('volume', volume.length > 0, flags.volumes === false);
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

/** @throws Failure (usage) for a setting that is given and taken away at once */
export function notBoth(flag: string, given: boolean, removed = false): void {
  if (given && removed) throw usageFailure(`Give --${flag} or its removal, not both.`);
}
