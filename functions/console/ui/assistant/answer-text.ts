/** A part of a line. All of them are shown as text. */
export interface Span {
  kind: 'text' | 'code' | 'strong';
  text: string;
}

/** A part of an answer, of which the console shows a few forms of Markdown. */
export type Block =
  | { kind: 'code'; language: string; text: string }
  | { kind: 'heading' | 'paragraph' | 'table'; lines: Span[][] }
  | { kind: 'list'; ordered: boolean; start: number; items: Span[][][] };

// Without the look-ahead, a long line of tildes would be tried from each of them.
const fence = /^(`{3,}|~{3,}(?!~))([^`]*)$/;
const heading = /^#{1,6}[ \t]+/;
const bullet = /^[ \t]{0,12}[-*+][ \t]+/;
const numbered = /^[ \t]{0,12}(\d{1,9})[.)][ \t]+/;

/**
 * Reads an answer, also while it is written. What is no code, heading, list or table is a paragraph, so everything that
 * a model can write stays readable as it is. Pure, and linear in the length of the answer.
 */
export function blocksOf(answer: string): Block[] {
  const blocks: Block[] = [];
  let open: Block | undefined;
  let code: { marker: string; language: string; lines: string[] } | undefined;
  const closeCode = () => {
    if (code) blocks.push({ kind: 'code', language: code.language, text: code.lines.join('\n') });
    code = undefined;
  };
  const add = (block: Block) => {
    blocks.push(block);
    open = block;
  };
  for (const line of answer.split('\n')) {
    if (code) {
      if (closes(line, code.marker)) closeCode();
      else code.lines.push(line);
      continue;
    }
    const [, marker, language = ''] = fence.exec(line) ?? [];
    const number = numbered.exec(line);
    if (marker !== undefined) {
      code = { marker, language: language.trim().toLowerCase(), lines: [] };
      open = undefined;
    } else if (line.trim() === '') open = undefined;
    else if (heading.test(line)) {
      add({ kind: 'heading', lines: [spansOf(line.replace(heading, ''))] });
      open = undefined;
    } else if (number || bullet.test(line)) {
      const item = [spansOf(line.replace(number ? numbered : bullet, ''))];
      const ordered = number !== null;
      if (open?.kind === 'list' && open.ordered === ordered) open.items.push(item);
      else add({ kind: 'list', ordered, start: Number(number?.[1] ?? 1), items: [item] });
    } else if (open?.kind === 'list') open.items.at(-1)?.push(spansOf(line.trim()));
    else {
      const kind = line.trimStart().startsWith('|') ? 'table' : 'paragraph';
      // The cells of a table stay under each other only as they were written.
      const spans: Span[] = kind === 'table' ? [{ kind: 'text', text: line }] : spansOf(line);
      if (open?.kind === kind) open.lines.push(spans);
      else add({ kind, lines: [spans] });
    }
  }
  closeCode();
  return blocks;
}

/** Whether a line ends a block of code: it has the marker's character only, at least as often. */
function closes(line: string, marker: string): boolean {
  const text = line.trim();
  return text.length >= marker.length && text === marker.charAt(0).repeat(text.length);
}

/** Spans of code, as the API balances them, and strong text between them. */
function spansOf(line: string): Span[] {
  const spans: Span[] = [];
  let rest = 0;
  let at = line.indexOf('`');
  while (at >= 0) {
    let ticks = 1;
    while (line[at + ticks] === '`') ticks += 1;
    const marker = '`'.repeat(ticks);
    const end = line.indexOf(marker, at + ticks);
    if (end < 0) break;
    spans.push(...strongOf(line.slice(rest, at)), { kind: 'code', text: line.slice(at + ticks, end) });
    rest = end + ticks;
    at = line.indexOf('`', rest);
  }
  return [...spans, ...strongOf(line.slice(rest))];
}

/** Text between two pairs of asterisks is strong. */
function strongOf(text: string): Span[] {
  const parts = text.split('**');
  // Without a second pair, the first one is text.
  const closed = parts.length % 2 === 0 ? parts.length - 1 : parts.length;
  const spans = parts
    .slice(0, closed)
    .map((part, index): Span => ({ kind: index % 2 === 1 ? 'strong' : 'text', text: part }));
  const rest = parts.slice(closed).map((part): Span => ({ kind: 'text', text: `**${part}` }));
  return [...spans, ...rest].filter((span) => span.text !== '');
}
