import { pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';

/** Fields that carry secrets, as headers and as object keys. */
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

const named = new RegExp(`"(?:${secretFields.join('|')})":`);

/**
 * A line without the values of such fields, however deep they are. Hardly any has one, and a look at its text costs a
 * tenth of what pino's own redaction does, which copies what it is given.
 */
function redacted(line: string): string {
  if (!named.test(line)) return line;
  const censor = (key: string, value: unknown) => (secretFields.includes(key) ? '[redacted]' : value);
  return `${JSON.stringify(JSON.parse(line, censor))}\n`;
}

/**
 * The log of one process: one JSON object a line on stdout, `msg`, `level` as a word, `time` in RFC 3339, `name` the
 * process. Redaction is a safety net: no caller passes a secret in the first place.
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
  return destination ? pino(settings, destination) : pino(settings);
}
