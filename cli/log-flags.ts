import { scopeFlags } from './common-flags.ts';
import { logLevels } from '../runtime/domain/log-level.ts';
import { usageFailure } from './failure.ts';
import { amount, choice, duration, text, texts, toggle, type Flag } from './flags.ts';

/** As the API: its contract is not loaded here, since every command loads these options. */
const yearSeconds = 31_536_000;

const atFlag: Flag<string | undefined> = {
  ...text('<time>', 'lines printed within 5s of this time, such as 2026-11-30T10:15:04Z'),
  read(raw, name) {
    const time = text('', '').read(raw, name);
    if (time === undefined) return undefined;
    const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/.test(time);
    if (isTime && !Number.isNaN(Date.parse(time))) return time;
    throw usageFailure(`${name} must be a time in UTC, such as 2026-11-30T10:15:04Z, not "${time}".`);
  },
};

/** For commands that print the logs of one workload. */
export const selectionFlags = {
  until: duration('<duration>', 'minimum age of lines, such as 5m', { max: yearSeconds }),
  at: atFlag,
  search: text('<text>', 'only lines that contain this text'),
  level: choice(logLevels, 'only JSON lines with at least this level'),
  pod: text('<pod>', 'only lines of this pod'),
  download: toggle('print every line of the range, not only the last'),
};

/** For commands that print the logs of pods. */
export const lineFlags = {
  follow: toggle('stream new lines until Ctrl-C', { short: 'f' }),
  since: duration('<duration>', 'maximum age of lines, such as 15m, 6h or 7d (default 1h)', { max: yearSeconds }),
  tail: amount('<lines>', 'last lines (default 1000; 100 of each pod with -f)', { min: 1, max: 10_000 }),
  previous: toggle('show the logs of terminated containers'),
};

/** For `svc logs`. */
export const environmentLogFlags = {
  app: texts('<app>', 'only this app'),
  function: texts('<function>', 'only this function'),
  job: texts('<job>', 'only this job'),
  follow: lineFlags.follow,
  since: lineFlags.since,
  tail: amount('<lines>', 'last lines of each workload (default 1000; 100 with -f)', { min: 1, max: 10_000 }),
  ...scopeFlags,
};
