import { commandWords } from '../command-line.ts';
import { amount, choice, text, toggle, type FlagValues } from '../flags.ts';
import { checkExclusive, podFlags, podRemovalFlags, podSettingsBody, type variableFlag } from '../pod-settings.ts';

/** For `create` and `update`: the settings of an app's pods. */
export const settingFlags = {
  port: amount('<port>', 'port that the container listens on (default 8080)', { min: 1, max: 65_535 }),
  replicas: amount('<n>', 'number of pods (default 1)', { min: 0, max: 50 }),
  healthPath: text('<path>', 'path that returns 2xx when ready (default: the port accepts connections)'),
  releaseCommand: text('<line>', 'command that each new release runs before its pods start'),
  ...podFlags({ memory: "the environment's" }),
  autoRollback: choice(['on', 'off'], 'roll back automatically when a deployment fails (default on)'),
};

/** For `update`: resets settings. */
export const removalFlags = {
  defaultHealthPath: toggle('remove the health path'),
  removeReleaseCommand: toggle('remove the release command'),
  ...podRemovalFlags,
};

/** The fields of a request body for the flags. @throws Failure (usage) */
export function settingsBody(
  flags: FlagValues<typeof settingFlags> & Partial<FlagValues<typeof removalFlags & typeof variableFlag>>,
): Record<string, unknown> {
  const { port, replicas, healthPath, releaseCommand, autoRollback } = flags;
  checkExclusive('health-path', healthPath !== undefined, flags.defaultHealthPath);
  checkExclusive('release-command', releaseCommand !== undefined, flags.removeReleaseCommand);
  const values = {
    port,
    replicas,
    healthPath,
    ...podSettingsBody(flags),
    ...(autoRollback !== undefined && { autoRollback: autoRollback === 'on' }),
    ...(releaseCommand !== undefined && {
      releaseCommand: commandWords([releaseCommand], {
        flag: '--release-command',
        hint: `Let a shell do it: --release-command "sh -c '…'".`,
      }),
    }),
    ...(flags.removeReleaseCommand && { releaseCommand: null }),
    ...(flags.defaultHealthPath && { healthPath: null }),
  };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
