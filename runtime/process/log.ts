import { pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import { createTurnOutput } from './turn-output.ts';

/** Fields that contain secrets, as headers and as object keys. */
const secretFields = [
  'authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'x-svc-token',
  'x-hub-signature-256',
  'password',
  'token',
];

const secretField = new RegExp(`"(?:${secretFields.join('|')})":`);

/**
 * Removes the values of these fields at any depth. Few lines have one, and searching the text takes a tenth of the time
 * of pino's own redaction, which copies every object.
 */
function redacted(line: string): string {
  if (!secretField.test(line)) return line;
  const censor = (key: string, value: unknown) => (secretFields.includes(key) ? '[redacted]' : value);
  return `${JSON.stringify(JSON.parse(line, censor))}\n`;
}

/**
 * The logger of a process. It writes one JSON object per line to stdout, with `msg`, `level` as a word, `time` in RFC
 * 3339, and the process as `name`. Redaction is a safety net: callers must not log secrets.
 */
export function createLogger(name: string, options: { level: string }, destination?: DestinationStream): Logger {
  const settings = {
    name,
    level: options.level,
    base: { name },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    hooks: { streamWrite: redacted },
  };
  return pino(settings, destination ?? standardOutput());
}

function standardOutput(): DestinationStream {
  const output = createTurnOutput(pino.destination({ dest: 1, sync: true }));
  process.once('exit', () => output.flushSync());
  return output;
}
