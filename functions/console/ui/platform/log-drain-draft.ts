import type { LogDrainView } from '../../../../runtime/contracts/api/log-drain.ts';
import type { LogDrainFormat } from '../../../../runtime/domain/log-drain.ts';
import { filledLines } from '../parts/lines.ts';

/** What the form of the log drain has, as texts; the API checks them. */
export interface LogDrainDraft {
  url: string;
  format: LogDrainFormat;
  /** One `Name: value` on each line. */
  headers: string;
  /** One on each line. */
  networks: string;
}

/** What the form shows first. Headers are never shown. */
export function logDrainDraft(drain: LogDrainView | null): LogDrainDraft {
  const { url = '', format = 'loki', networks = [] } = drain ?? {};
  return { url, format, headers: '', networks: networks.join('\n') };
}

/** The headers of a text, and the numbers of its lines that are none: a line may be a secret. */
export function headersIn(text: string): { headers: Record<string, string>; badLines: number[] } {
  const badLines: number[] = [];
  const entries = text.split('\n').flatMap((line, index): [string, string][] => {
    if (line.trim() === '') return [];
    const colon = line.indexOf(':');
    if (colon < 1) {
      badLines.push(index + 1);
      return [];
    }
    return [[line.slice(0, colon).trim(), line.slice(colon + 1).trim()]];
  });
  return { headers: Object.fromEntries(entries), badLines };
}

/** The headers that the drain has now and loses by this change. */
export function droppedHeaders(drain: LogDrainView | null, draft: LogDrainDraft): string[] {
  const names = Object.keys(headersIn(draft.headers).headers).map((name) => name.toLowerCase());
  return (drain?.headers ?? []).filter((name) => !names.includes(name.toLowerCase()));
}

/** The body of the request, which replaces all settings. */
export function logDrainBody({ url, format, headers, networks }: LogDrainDraft): Record<string, unknown> {
  const named = headersIn(headers).headers;
  const listed = filledLines(networks);
  return {
    url: url.trim(),
    format,
    ...(Object.keys(named).length > 0 && { headers: named }),
    ...(listed.length > 0 && { networks: listed }),
  };
}

/** The words of the command that does the same, and where its headers come from: no command has them. */
export function logDrainWords(draft: LogDrainDraft): { words: string[]; input: string } {
  const hasHeaders = Object.keys(headersIn(draft.headers).headers).length > 0;
  return {
    words: [
      ...['platform', 'log-drain', 'set', '--url', draft.url.trim() || 'https://logs.example.com'],
      ...['--format', draft.format],
      ...filledLines(draft.networks).flatMap((network) => ['--network', network]),
      ...(hasHeaders ? ['--headers-stdin'] : []),
    ],
    input: hasHeaders ? ' < headers' : '',
  };
}
