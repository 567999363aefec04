import type { SealContext } from './sealed.ts';

/** The wire formats of a log drain: Loki's push API, OpenTelemetry's OTLP/HTTP in JSON, and JSON lines. */
export const logDrainFormats = ['loki', 'otlp', 'json'] as const;

export type LogDrainFormat = (typeof logDrainFormats)[number];

/** The states of a test line. */
export const logDrainTestStates = ['pending', 'delivered', 'failed'] as const;

/** The path of a format, for an address without one. */
const paths: Readonly<Record<LogDrainFormat, string>> = { loki: '/loki/api/v1/push', otlp: '/v1/logs', json: '/' };

/** The address of a log drain, with the path of its format if it has none. */
export function logDrainUrl(url: URL, format: LogDrainFormat): string {
  const full = new URL(url);
  full.hash = '';
  if (full.pathname === '/') full.pathname = paths[format];
  return full.href;
}

/** Headers that the platform sets itself, or that change how HTTP reads the request. */
const reserved = new Set([
  'host',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'content-length',
  'content-type',
  'content-encoding',
  'user-agent',
  'proxy-authorization',
  'proxy-connection',
]);
const headersMax = 20;

/** Why headers cannot be sent, for people; it contains no value. */
export function headersFault(headers: Readonly<Record<string, string>>): string | undefined {
  const names = Object.keys(headers);
  if (names.length > headersMax) return `At most ${headersMax} headers can be set.`;
  if (new Set(names.map((name) => name.toLowerCase())).size < names.length) return 'A header is set twice.';
  for (const name of names) {
    if (!/^[A-Za-z0-9_-]{1,100}$/.test(name)) return 'The name of a header takes letters, digits and hyphens.';
    if (reserved.has(name.toLowerCase())) return `The header ${name} cannot be set; the platform sets it.`;
    if (!/^[\x21-\x7e][\x20-\x7e]*$/.test(headers[name] ?? '')) {
      return `The value of the header ${name} takes printable ASCII characters and cannot be empty.`;
    }
  }
  return undefined;
}

/** What the sealed headers of the log drain are bound to. @param id the id of its record */
export function logDrainContext(id: string): SealContext {
  return { id, purpose: 'log-drain-headers' };
}
