import { plain, type Paint, type Tone } from './colour.ts';

/** Output formats: `table` for people, the others for programs. */
export const outputFormats = ['table', 'json', 'yaml', 'name'] as const;

export type OutputFormat = (typeof outputFormats)[number];

/** One column of a table; an absent value is shown as a dash. */
export interface Column<Row> {
  title: string;
  value: (row: Row) => string | number | undefined;
  /** The colour, for values that need attention. */
  tone?: (row: Row) => Tone | undefined;
}

/** The output of a command in every format. */
export interface Output {
  /** For json and yaml: the response of the management API; for a list, an array of its items. */
  data: unknown;
  /** For people. */
  table: string;
  /** For `-o name`, one per line. */
  names: readonly string[];
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

/** One field of a record: its name, its value and its colour. */
export type Field = readonly [name: string, value: string | number | undefined, tone?: Tone | undefined];

/**
 * One record with a line for each field; absent fields are left out. The further lines of a value, such as those of a stack
 * trace, stand below its first one.
 */
export function fields(record: readonly Field[], paint: Paint = plain): string {
  const lines = record.flatMap(([name, value, tone]) => {
    if (value === undefined) return [];
    const texts = String(value).split(/\r?\n/);
    return texts.map((text, index) => ({
      cells: index === 0 ? [`${name}:`, cell(text)] : ['', text === '' ? '' : cell(text)],
      tone,
    }));
  });
  return columns(
    lines.map(({ cells }) => cells),
    '  ',
    (text, line, column) => (column === 1 ? paint(text, lines[line]?.tone) : text),
  );
}

/** Lines with aligned columns. @param colour may add colour codes to a cell, which do not count as width */
export function columns(
  lines: readonly (readonly string[])[],
  gap = '  ',
  colour: (text: string, line: number, column: number) => string = (text) => text,
): string {
  const widths: number[] = [];
  for (const line of lines) line.forEach((text, index) => (widths[index] = Math.max(widths[index] ?? 0, width(text))));
  return lines
    .map((line, at) =>
      line.map((text, index) => colour(text, at, index) + ' '.repeat((widths[index] ?? 0) - width(text))).join(gap),
    )
    .map((line) => line.trimEnd())
    .join('\n');
}

function width(text: string): number {
  return Array.from(text).length;
}

/** Replaces control characters, which could rewrite the terminal. */
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

/** The age of a time: `just now`, `3 minutes ago`. */
export function ago(time: string, now: Date): string {
  const seconds = Math.floor((now.getTime() - Date.parse(time)) / 1000);
  return seconds < 2 ? 'just now' : `${span(seconds)} ago`;
}

/** The column CREATED of a list: `3 minutes ago`. */
export function ageColumn(now: Date): Column<{ createdAt: string }> {
  return { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now) };
}

/** A length of time in its largest whole unit: `3 minutes`. */
export function span(seconds: number): string {
  const [size, name] = units.find(([least]) => seconds >= least) ?? [1, 'second'];
  const count = Math.floor(seconds / size);
  return `${count} ${name}${count === 1 ? '' : 's'}`;
}
