import { stripVTControlCharacters } from 'node:util';
import { promptOf, type Cast } from './cast.ts';

/** A command of a cast with what it printed. */
interface Entry {
  command: string;
  output: string;
  startedAt: number;
  /** When the next one began, or the cast ended. */
  endedAt: number;
}

interface Chapter {
  title: string;
  entries: Entry[];
}

const introduction = `A recording of the way from an empty home folder to a changed deployment and back, with its real output and times
(secrets masked). The commands after the start are those of the [tutorial](tutorials/deploy-a-folder.md). Play it with
\`asciinema play docs/first-day.cast\`; record it again with \`npm run cast\`.`;

/** The page that shows a cast: a table of the times, then each command with its output and the seconds that it took. */
export function castPage(cast: Cast): string {
  const chapters = chaptersOf(cast);
  const rows = chapters.map(({ title, entries }) => {
    const [startedAt, endedAt] = [entries[0]?.startedAt ?? 0, entries.at(-1)?.endedAt ?? 0];
    return [title, seconds(endedAt - startedAt), seconds(endedAt)];
  });
  const sections = chapters.map(({ title, entries }) => [`## ${title}`, ...entries.map(textOf)].join('\n\n'));
  return `${[`# ${cast.header.title}`, introduction, tableOf(rows), ...sections].join('\n\n')}\n`;
}

function chaptersOf({ events }: Cast): Chapter[] {
  const chapters: Chapter[] = [];
  let current: Entry | undefined;
  for (const [at, kind, text] of events) {
    if (current) current.endedAt = at;
    if (kind === 'o') {
      if (current) current.output += text;
    } else if (kind === 'm') {
      current = undefined;
      chapters.push({ title: text, entries: [] });
    } else {
      current = { command: text, output: '', startedAt: at, endedAt: at };
      chapters.at(-1)?.entries.push(current);
    }
  }
  return chapters;
}

/** Aligned, as the formatter of the repository writes tables. */
function tableOf(rows: readonly (readonly string[])[]): string {
  const titles = ['step', 'took', 'done after'];
  const widths = titles.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(titles), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

function textOf({ command, output, startedAt, endedAt }: Entry): string {
  const prompt = promptOf(command);
  const printed = plain(output.startsWith(prompt) ? output.slice(prompt.length) : output);
  const shown = [plain(prompt), printed].filter((text) => text !== '').join('\n');
  const fence = fenceOf(shown);
  return `${fence}console\n${shown}\n${fence}\n\nTook ${seconds(endedAt - startedAt)}.`;
}

/** A fence that the text itself does not contain: the output of `npm start` has blocks of its own. */
function fenceOf(text: string): string {
  const lengths = Array.from(text.matchAll(/`+/g), ([ticks]) => ticks.length + 1);
  return '`'.repeat(Math.max(3, ...lengths));
}

/** What a terminal shows at the end: without colours, and of a line that was rewritten its last text. */
function plain(output: string): string {
  return stripVTControlCharacters(output)
    .split(/\r*\n/)
    .map((line) => (line.split('\r').at(-1) ?? '').trimEnd())
    .join('\n')
    .trim();
}

function seconds(value: number): string {
  return `${value.toFixed(1)} s`;
}
