/** The levels by which lines are selected, least severe first. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;

export type LogLevel = (typeof logLevels)[number];

/** Other words for levels, of syslog, Python, Java and Google Cloud. */
const synonyms: Readonly<Record<string, LogLevel>> = {
  verbose: 'debug',
  notice: 'info',
  information: 'info',
  warning: 'warn',
  err: 'error',
  severe: 'error',
  critical: 'fatal',
  alert: 'fatal',
  emergency: 'fatal',
  panic: 'fatal',
};

const keys = ['level', 'lvl', 'severity'] as const;
/** A line without one of these texts has no level. */
const marks = keys.map((key) => `"${key}"`);

/** How severe a line is: its place in {@link logLevels}; undefined for a line that is no JSON object with a level. */
export function severityOf(line: string): number | undefined {
  if (!marks.some((mark) => line.includes(mark))) return undefined;
  const start = line.indexOf('{');
  if (start < 0 || line.slice(0, start).trim() !== '') return undefined;
  let entry: Partial<Record<string, unknown>>;
  try {
    entry = JSON.parse(line) as Partial<Record<string, unknown>>;
  } catch {
    return undefined;
  }
  for (const key of keys) {
    const severity = severityOfValue(entry[key]);
    if (severity !== undefined) return severity;
  }
  return undefined;
}

function severityOfValue(value: unknown): number | undefined {
  // Numbers as in pino: 10 is trace, 60 is fatal.
  if (typeof value === 'number') return Number.isFinite(value) ? clamp(Math.floor(value / 10) - 1) : undefined;
  if (typeof value !== 'string' || value.length > 20) return undefined;
  const word = value.toLowerCase();
  const level = Object.hasOwn(synonyms, word) ? synonyms[word] : word;
  const index = logLevels.findIndex((candidate) => candidate === level);
  return index < 0 ? undefined : index;
}

function clamp(index: number): number {
  return Math.min(logLevels.length - 1, Math.max(0, index));
}
