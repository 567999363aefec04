/** A bench of a run of all, with the lines of its figures. */
export interface BenchRun {
  /** As on the command line, such as `history --rows 1000000`. */
  command: string;
  /** What it wrote to stdout. */
  output: string;
  /** Why it has no figures, or not all. */
  problem?: string;
}

/** Where and when all were run. */
export interface RunConditions {
  machine: string;
  commit: string;
  day: string;
}

const begin = '<!-- `npm run bench -- all` writes from here -->';
const end = '<!-- to here -->';

/** A page with the figures of a run in place of those of the run before. Pure. @param page the current text */
export function withRun(page: string, runs: readonly BenchRun[], { machine, commit, day }: RunConditions): string {
  const section = [
    begin,
    '',
    '## In one run',
    '',
    `\`npm run bench -- all\`, on ${day}, at commit ${commit}, on ${machine}.`,
    ...runs.flatMap(({ command, output, problem }) => [
      '',
      `\`npm run bench -- ${command}\`${problem === undefined ? ':' : `: ${problem}`}`,
      ...table(output),
    ]),
    '',
    end,
    '',
  ].join('\n');
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) return `${page.trimEnd()}\n\n${section}`;
  return `${page.slice(0, from)}${section.trimEnd()}${page.slice(to + end.length)}`;
}

/** The figures as a table; nothing without any. */
function table(output: string): string[] {
  const rows = output.split('\n').flatMap((line) => {
    const [, name, value, unit, target, outcome] =
      /^figure (\S+) (\S+) (\S+)(?: target (\S+) (ok|short))?$/.exec(line) ?? [];
    if (name === undefined) return [];
    return [[`\`${name}\``, `${value} ${unit}`, `${target ?? ''}${outcome === 'short' ? ' (missed)' : ''}`]];
  });
  if (rows.length === 0) return [];
  const all = [['figure', 'value', 'target'], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const lineOf = (row: readonly string[]) =>
    `| ${row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join(' | ')} |`;
  const [head = [], ...body] = all;
  return ['', lineOf(head), lineOf(widths.map((width) => '-'.repeat(width))), ...body.map(lineOf)];
}
