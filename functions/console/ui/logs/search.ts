/** The ranges of a log, in seconds. */
export const ranges = { '5m': 300, '15m': 900, '1h': 3_600, '6h': 21_600, '24h': 86_400, '7d': 604_800 };

export type RangeName = keyof typeof ranges;

const levels = ['debug', 'info', 'warn', 'error'] as const;

/** What the address of a log says. Absent: the default. */
export interface LogSearch {
  since?: RangeName | undefined;
  level?: (typeof levels)[number] | undefined;
  pod?: string | undefined;
  q?: string | undefined;
  nowrap?: true | undefined;
  nofollow?: true | undefined;
  /** The time of a line. */
  at?: string | undefined;
}

/** A time as the API sends it, in this century: the start of a range before it is a valid time as well. */
const timeForm = /^20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d(\.\d{1,9})?Z$/;

/** Reads the parameters of an address, and leaves out what is not valid. */
export function logSearch(values: Record<string, unknown>): LogSearch {
  const { since, level, pod, q, nowrap, nofollow, at } = values;
  const knownLevel = levels.find((name) => name === level);
  return {
    ...(typeof since === 'string' && Object.hasOwn(ranges, since) && { since: since as RangeName }),
    ...(knownLevel && { level: knownLevel }),
    ...(typeof pod === 'string' && pod !== '' && { pod }),
    ...(typeof q === 'string' && q !== '' && { q }),
    ...(nowrap === true && { nowrap }),
    ...(nofollow === true && { nofollow }),
    ...(typeof at === 'string' && timeForm.test(at) && !Number.isNaN(Date.parse(at)) && { at }),
  };
}
