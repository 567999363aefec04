import { usageFailure } from '../failure.ts';
import { amount, choice, text, texts, toggle, unless, type FlagValues } from '../flags.ts';
import { readMount, readVariable } from '../typed-values.ts';

/** Of `create` and `update`: what makes an app's pods. */
export const settingFlags = {
  port: amount('<port>', 'port on which the container listens (default 8080)', { min: 1, max: 65_535 }),
  replicas: amount('<n>', 'number of pods (default 1)', { min: 0, max: 50 }),
  healthPath: text('<path>', 'path that answers 2xx once the container can serve (default: its port accepts)'),
  memory: text('<quantity>', "memory limit, such as 512Mi (default: the environment's)"),
  cpu: text('<quantity>', 'CPU limit, such as 500m (default: none)'),
  volume: texts('<name:/path>', 'volume and where it is mounted'),
  autoRollback: choice(['on', 'off'], 'go back to the last good revision when a deployment fails (default on)'),
};

/** Of `create` alone; later on there are commands for variables. */
export const variableFlag = {
  env: texts('<NAME=value>', 'environment variable, which may refer to others as ${NAME}'),
};

/** Of `update` alone: back to the default. */
export const removalFlags = {
  defaultHealthPath: toggle('take the health path away'),
  defaultMemory: toggle('take the memory limit away'),
  defaultCpu: toggle('take the CPU limit away'),
  volumes: unless('mount no volume any more'),
};

/** The part of a request's body that the flags make. @throws Failure (usage) */
export function settingsOf(
  flags: FlagValues<typeof settingFlags> & Partial<FlagValues<typeof removalFlags & typeof variableFlag>>,
): Record<string, unknown> {
  const { port, replicas, healthPath, memory, cpu, volume, autoRollback, env = [] } = flags;
  const either = (name: string, given: boolean, removed = false) => {
    if (given && removed) throw usageFailure(`Give --${name} or its removal, not both.`);
  };
  either('health-path', healthPath !== undefined, flags.defaultHealthPath);
  either('memory', memory !== undefined, flags.defaultMemory);
  either('cpu', cpu !== undefined, flags.defaultCpu);
  either('volume', volume.length > 0, flags.volumes === false);
  const given = {
    ...{ port, replicas, healthPath, memory, cpu },
    ...(volume.length > 0 && { volumes: volume.map(readMount) }),
    ...(autoRollback !== undefined && { autoRollback: autoRollback === 'on' }),
    ...(env.length > 0 && { env: Object.fromEntries(env.map((typed) => readVariable(typed))) }),
    ...(flags.defaultHealthPath && { healthPath: null }),
    ...(flags.defaultMemory && { memory: null }),
    ...(flags.defaultCpu && { cpu: null }),
    ...(flags.volumes === false && { volumes: [] }),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
