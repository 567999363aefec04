import { stringify } from 'yaml';
import { plain, type Paint, type Tone } from './colour.ts';

/** How data is printed: for people, or for programs. */
export const outputFormats = ['table', 'json', 'yaml', 'name'] as const;

export type OutputFormat = (typeof outputFormats)[number];

/** One column of a table; an absent value shows as a dash. */
export interface Column<Row> {
  title: string;
  value: (row: Row) => string | number | undefined;
  /** Where people should look. */
  tone?: (row: Row) => Tone | undefined;
}

/** What a command has to show, in every format. */
export interface Shown {
  /** For json and yaml: as the management API answered; of a list, its items alone. */
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
export function table<Row>(rows: readonly Row[], definition: readonly Column<Row>[], paint: Paint = plain): string {
  const cells = rows.map((row) => definition.map(({ value }) => cell(value(row))));
  const lines = [definition.map(({ title }) => title), ...cells];
  return columns(lines, '   ', (text, line, column) => {
    const row = rows[line - 1];
    return row === undefined ? text : paint(text, definition[column]?.tone?.(row));
  });
}

/** One field of a record: its name, its value, and where people should look. */
export type Field = readonly [name: string, value: string | number | undefined, tone?: Tone | undefined];

/** One record, a field a line; absent fields are left out. */
export function fields(record: readonly Field[], paint: Paint = plain): string {
  const present = record.filter(([, value]) => value !== undefined);
  const lines = present.map(([name, value]) => [`${name}:`, cell(value)]);
  return columns(lines, '  ', (text, line, column) => (column === 1 ? paint(text, present[line]?.[2]) : text));
}

/** Lines whose cells begin in the same places. @param dress may colour a cell, which changes nothing of its width */
export function columns(
  lines: readonly (readonly string[])[],
  gap = '  ',
  dress: (text: string, line: number, column: number) => string = (text) => text,
): string {
  const widths: number[] = [];
  for (const line of lines) line.forEach((text, index) => (widths[index] = Math.max(widths[index] ?? 0, width(text))));
  return lines
    .map((line, at) =>
      line.map((text, index) => dress(text, at, index) + ' '.repeat((widths[index] ?? 0) - width(text))).join(gap),
    )
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
  return seconds < 2 ? 'just now' : `${span(seconds)} ago`;
}

/** A length of time in its largest whole unit: `3 minutes`. */
export function span(seconds: number): string {
  const [size, name] = units.find(([least]) => seconds >= least) ?? [1, 'second'];
  const count = Math.floor(seconds / size);
  return `${count} ${name}${count === 1 ? '' : 's'}`;
}
