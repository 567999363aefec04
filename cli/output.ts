import { stringify } from 'yaml';

/** How data is printed: for people, or for programs. */
export const outputFormats = ['table', 'json', 'yaml', 'name'] as const;

export type OutputFormat = (typeof outputFormats)[number];

/** One column of a table; an absent value shows as a dash. */
export interface Column<Row> {
  title: string;
  value: (row: Row) => string | number | undefined;
}

/** What a command has to show, in every format. */
export interface Shown {
  /** For json and yaml: as the management API answered. */
  data: unknown;
  /** For people. */
  table: string;
  /** For `-o name`, one a line. */
  names: readonly string[];
}

/** The text of `shown` in a format, with its line end; empty when there is nothing. */
export function render(shown: Shown, format: OutputFormat): string {
  if (format === 'json') return `${JSON.stringify(shown.data, null, 2)}\n`;
  if (format === 'yaml') return stringify(shown.data);
  const text = format === 'name' ? shown.names.join('\n') : shown.table;
  return text === '' ? '' : `${text}\n`;
}

/** A table with a heading and aligned columns. */
export function table<Row>(rows: readonly Row[], definition: readonly Column<Row>[]): string {
  const cells = rows.map((row) => definition.map(({ value }) => cell(value(row))));
  return columns([definition.map(({ title }) => title), ...cells], '   ');
}

/** One record, a field a line; absent fields are left out. */
export function fields(record: readonly (readonly [string, string | number | undefined])[]): string {
  const present = record.filter(([, value]) => value !== undefined);
  return columns(present.map(([name, value]) => [`${name}:`, cell(value)]));
}

/** Lines whose cells begin in the same places. */
export function columns(lines: readonly (readonly string[])[], gap = '  '): string {
  const widths: number[] = [];
  for (const line of lines) line.forEach((text, index) => (widths[index] = Math.max(widths[index] ?? 0, width(text))));
  return lines
    .map((line) => line.map((text, index) => text + ' '.repeat((widths[index] ?? 0) - width(text))).join(gap))
    .map((line) => line.trimEnd())
    .join('\n');
}

function width(text: string): number {
  return Array.from(text).length;
}

/** What others wrote is shown as text: control characters could rewrite the terminal. */
function cell(value: string | number | undefined): string {
  if (value === undefined || value === '') return '-';
  return String(value).replaceAll(/\p{Cc}/gu, ' ');
}

const units: readonly [number, string][] = [
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
];

/** How long ago: `just now`, `3 minutes ago`. */
export function ago(time: string, now: Date): string {
  const seconds = Math.floor((now.getTime() - Date.parse(time)) / 1000);
  const unit = units.find(([size]) => seconds >= size);
  if (!unit || seconds < 2) return 'just now';
  const count = Math.floor(seconds / unit[0]);
  return `${count} ${unit[1]}${count === 1 ? '' : 's'} ago`;
}
