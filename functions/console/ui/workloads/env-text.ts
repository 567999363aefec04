/** Variables by name. */
export type Variables = Readonly<Record<string, string>>;

const quotes = ["'", '"', '`'] as const;

/**
 * Variables as lines of a `.env` file, as `svc app env pull` writes them. A value that no such line can have is left out,
 * and stays as it is.
 */
export function linesOf(variables: Variables): { text: string; omitted: string[] } {
  const omitted: string[] = [];
  const lines = Object.entries(variables).flatMap(([name, value]) => {
    if (/^[\w./:@%+,=-]*$/.test(value)) return [`${name}=${value}`];
    const quote = quotes.find((mark) => !value.includes(mark) && !(mark === '"' && value.includes(String.raw`\n`)));
    if (quote !== undefined) return [`${name}=${quote}${value}${quote}`];
    omitted.push(name);
    return [];
  });
  return { text: lines.map((line) => `${line}\n`).join(''), omitted };
}

/**
 * Reads the lines of a `.env` file by Node's rules: comments, `export`, and values in quotes, which may have several lines.
 * @returns `faults`: numbers of lines that are no variable
 */
export function readLines(text: string): { variables: Variables; faults: number[] } {
  const variables: Record<string, string> = {};
  const faults: number[] = [];
  const lines = text.split(/\r?\n/);
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index]?.trim() ?? '';
    if (line === '' || line.startsWith('#')) continue;
    const number = index + 1;
    const split = line.indexOf('=');
    const name = line
      .slice(0, Math.max(0, split))
      .replace(/^export\s/, '')
      .trim();
    if (split < 0 || !/^[A-Za-z_]\w*$/.test(name)) {
      faults.push(number);
      continue;
    }
    let value = line.slice(split + 1).trim();
    const mark = quotes.find((quote) => value.startsWith(quote));
    if (mark === undefined) {
      variables[name] = (value.split('#', 1)[0] ?? '').trim();
      continue;
    }
    let end = value.indexOf(mark, 1);
    // The trimmed line is continued by the lines as they are.
    if (end < 0) value = lines[index]?.slice((lines[index] ?? '').indexOf(mark)) ?? value;
    while (end < 0 && index + 1 < lines.length) {
      const more = lines[++index] ?? '';
      const at = more.indexOf(mark);
      if (at >= 0) end = value.length + 1 + at;
      value = `${value}\n${more}`;
    }
    if (end < 0) {
      faults.push(number);
      continue;
    }
    const inner = value.slice(1, end);
    variables[name] = mark === '"' ? inner.replaceAll(String.raw`\n`, '\n') : inner;
  }
  return { variables, faults };
}

export interface Change {
  name: string;
  /** Undefined for a new variable. */
  before: string | undefined;
  /** Undefined for one that is deleted. */
  after: string | undefined;
}

/** What differs between two sets of variables, by name. */
export function changesOf(before: Variables, after: Variables): Change[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted();
  return names
    .map((name) => ({ name, before: before[name], after: after[name] }))
    .filter((change) => change.before !== change.after);
}
