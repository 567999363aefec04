import { runTimeoutMaxSeconds } from '../../runtime/contracts/api/jobs.ts';
import { runOverlaps } from '../../runtime/contracts/resources/run.ts';
import { commandWords } from '../command-line.ts';
import { usageFailure } from '../failure.ts';
import { amount, choice, duration, text, texts, textsOrEmpty, type FlagValues } from '../flags.ts';
import { readMount } from '../key-values.ts';

/** For `create` and `update`. */
export const settingFlags = {
  command: {
    ...textsOrEmpty('<line>', "command to run instead of the image's (several: one word each)"),
    anyWord: true,
  },
  shell: text('<line>', 'shell command to run instead (requires /bin/sh in the image)'),
  volume: texts('<name:/path>', 'volume and mount path'),
  schedule: text('<cron>', 'five-field cron expression, such as "0 2 * * *"'),
  timeZone: text('<zone>', 'time zone of the schedule (default Etc/UTC)'),
  overlap: choice(runOverlaps, 'policy for overlapping scheduled runs (default Forbid)'),
  retries: amount('<n>', 'retries of a failed run (default 0)', { min: 0, max: 10 }),
  runTimeout: duration('<duration>', 'maximum duration of a run, up to 30d', { max: runTimeoutMaxSeconds }),
  memory: text('<quantity>', 'memory limit, such as 512Mi'),
  cpu: text('<quantity>', 'CPU limit, such as 500m'),
  history: amount('<n>', 'succeeded and failed runs to keep, each (default 5)', { min: 1, max: 20 }),
};

export function settingsBody(flags: FlagValues<typeof settingFlags>): Record<string, unknown> {
  if (flags.command.length > 0 && flags.shell !== undefined) throw usageFailure('Use either --command or --shell.');
  const command =
    flags.shell === undefined
      ? commandWords(flags.command, { flag: '--command', hint: 'Use --shell.' })
      : ['/bin/sh', '-c', flags.shell];
  const values = {
    ...(command.length > 0 && { command }),
    ...(flags.volume.length > 0 && { volumes: flags.volume.map(readMount) }),
    schedule: flags.schedule,
    timeZone: flags.timeZone,
    overlap: flags.overlap,
    retries: flags.retries,
    timeoutSeconds: flags.runTimeout,
    historyLimit: flags.history,
    memory: flags.memory,
    cpu: flags.cpu,
  };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
