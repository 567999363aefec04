import { amount, choice, text, toggle, type FlagValues } from '../flags.ts';
import { notBoth, podFlags, podRemovalFlags, podSettingsOf, type variableFlag } from '../pod-settings.ts';

/** Of `create` and `update`: what makes an app's pods. */
export const settingFlags = {
  port: amount('<port>', 'port on which the container listens (default 8080)', { min: 1, max: 65_535 }),
  replicas: amount('<n>', 'number of pods (default 1)', { min: 0, max: 50 }),
  healthPath: text('<path>', 'path that answers 2xx once the container can serve (default: its port accepts)'),
  ...podFlags({ memory: "the environment's" }),
  autoRollback: choice(['on', 'off'], 'go back to the last good revision when a deployment fails (default on)'),
};

/** Of `update` alone: back to the default. */
export const removalFlags = {
  defaultHealthPath: toggle('take the health path away'),
  ...podRemovalFlags,
};

/** The part of a request's body that the flags make. @throws Failure (usage) */
export function settingsOf(
  flags: FlagValues<typeof settingFlags> & Partial<FlagValues<typeof removalFlags & typeof variableFlag>>,
): Record<string, unknown> {
  const { port, replicas, healthPath, autoRollback } = flags;
  notBoth('health-path', healthPath !== undefined, flags.defaultHealthPath);
  const given = {
    ...{ port, replicas, healthPath },
    ...podSettingsOf(flags),
    ...(autoRollback !== undefined && { autoRollback: autoRollback === 'on' }),
    ...(flags.defaultHealthPath && { healthPath: null }),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
