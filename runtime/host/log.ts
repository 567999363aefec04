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

/** pino's wildcards match one level each, so the depths are spelled out. */
const redactedPaths = secretFields.flatMap((field) => [`["${field}"]`, `*["${field}"]`, `*.*["${field}"]`]);

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
    redact: { paths: redactedPaths, censor: '[redacted]' },
  };
  return destination ? pino(settings, destination) : pino(settings);
}
