import { withoutUnseen } from './unseen.ts';

/** A longer line is divided, so that what is not complete yet stays small. */
const lineMax = 8_000;

/** Cleans the Markdown of a model while it arrives. */
export interface AnswerCleaner {
  /** @returns the next complete lines, cleaned */
  push(text: string): string;
  /** The rest. A block of code that is open is closed. */
  end(): string;
}

/**
 * Makes Markdown without images, links and HTML out of any text, since a model that was told so by a log could send
 * data away in the address of an image. Blocks and spans of code keep their content. Text counts as code only
 * if every parser of CommonMark and GitHub's tables reads it so: fences begin at the start of a line, spans end on their
 * line, and what could be read as another fence or span is changed. The text has no unseen characters either. Pure; takes linear time.
 */
export function createAnswerCleaner(): AnswerCleaner {
  let rest = '';
  let block: CodeBlock | undefined;

  const cleanLine = (line: string): string => {
    const text = withoutUnseen(line);
    if (!block) {
      block = openingOf(text);
      return block ? block.marker + block.language : cleanText(text);
    }
    const content = withoutIndent(text, block.indent);
    if (!closes(content, block)) return content;
    const { marker } = block;
    block = undefined;
    return marker;
  };

  return {
    push(text) {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      const cleaned = lines.map((line) => `${divide(line).map(cleanLine).join('\n')}\n`);
      const parts = divide(rest);
      rest = parts.pop() ?? '';
      return cleaned.join('') + parts.map((part) => `${cleanLine(part)}\n`).join('');
    },
    end() {
      const last = rest === '' ? '' : cleanLine(rest);
      const close = block ? `${last === '' ? '' : '\n'}${block.marker}\n` : '';
      rest = '';
      block = undefined;
      return last + close;
    },
  };
}

/** Cleans a whole text. */
export function cleanAnswer(text: string): string {
  const cleaner = createAnswerCleaner();
  return cleaner.push(text) + cleaner.end();
}

/** The parts of a line that is too long, divided between characters. The last one may be empty if the line is. */
function divide(line: string): string[] {
  const parts: string[] = [];
  let at = 0;
  while (line.length - at > lineMax) {
    const unit = line.charCodeAt(at + lineMax - 1);
    const end = at + (unit >= 0xd8_00 && unit <= 0xdb_ff ? lineMax - 1 : lineMax);
    parts.push(line.slice(at, end));
    at = end;
  }
  return [...parts, line.slice(at)];
}

interface CodeBlock {
  /** Such as three backticks. */
  marker: string;
  language: string;
  /** The characters before the marker, which the lines of the block have, too. They are removed. */
  indent: number;
}

/** The block of code that a line opens. */
function openingOf(line: string): CodeBlock | undefined {
  const [, indent = '', marker, info = ''] = /^([ \t]*)(`{3,}|~{3,})([^]*)$/.exec(line) ?? [];
  if (marker === undefined || info.includes('`')) return undefined;
  return { marker, language: /^[ \t]*([\w+#.-]{0,30})/.exec(info)?.[1] ?? '', indent: indent.length };
}

function closes(line: string, { marker }: CodeBlock): boolean {
  const text = line.trim();
  return text.length >= marker.length && text === marker.charAt(0).repeat(text.length);
}

function withoutIndent(line: string, count: number): string {
  let at = 0;
  while (at < count && (line[at] === ' ' || line[at] === '\t')) at++;
  return line.slice(at);
}

/** A line outside blocks of code. Its spans of code are balanced, so none continues on the next line. */
function cleanText(line: string): string {
  // A longer run could be read as a fence.
  const text = line.replaceAll(/`{3,}/g, '`');
  const runs = [...text.matchAll(/`+/g)].map(({ 0: { length }, index }) => ({ at: index, length }));
  const partners = partnersOf(runs);
  let [result, prose, copied] = ['', '', 0];
  for (let index = 0; index < runs.length; index++) {
    const [run, partner] = [runs[index], partners[index]];
    if (!run) break;
    // A run without a partner is left out, so the text before and after it is one.
    prose += text.slice(copied, run.at);
    copied = run.at + run.length;
    const end = partner === undefined ? undefined : runs[partner];
    if (partner === undefined || !end) continue;
    const code = text.slice(copied, end.at);
    // The cells of a table end at this character, also in code.
    if (code.includes('|')) prose += code.replaceAll('`', '');
    else {
      result += cleanProse(prose);
      prose = '';
      const ticks = '`'.repeat(run.length);
      // Two runs side by side would be one.
      result += (result.endsWith('`') ? ' ' : '') + ticks + code + ticks;
    }
    copied = end.at + end.length;
    index = partner;
  }
  return result + cleanProse(prose + text.slice(copied));
}

/** For each run of backticks, the next one of the same length, which ends the span that it begins. */
function partnersOf(runs: readonly { length: number }[]): (number | undefined)[] {
  const next = new Map<number, number>();
  const partners: (number | undefined)[] = [];
  for (let index = runs.length - 1; index >= 0; index--) {
    const length = runs[index]?.length ?? 0;
    partners[index] = next.get(length);
    next.set(length, index);
  }
  return partners;
}

const address = /(?:[a-z0-9+.-]{0,16}:\/\/|(?<![:\w/])\/\/(?=[\w[])|www\.|(?:mailto|xmpp):)[^\s)\]>"'|*]*/gi;

/**
 * Text outside code. Each step removes what the steps before it can have made, and the last ones leave no `](`, `][` and
 * `]:`, without which there is no link, no image and no definition of one.
 */
function cleanProse(text: string): string {
  return (
    text
      // Without escapes, what follows is what a parser sees. At the end, the next character is a backtick or a line end.
      .replaceAll(/\\+(?=[!-/:-@[-`{-~]|$)/g, '')
      .replaceAll(/!?\[([^[\]]{0,500})\]\([^()]{0,2000}\)/g, '$1')
      .replaceAll(address, '(link removed)')
      // References to characters, which some parsers decode before they look for addresses.
      .replaceAll(/&(?=#|[A-Za-z][A-Za-z0-9]{1,31};)/g, '& ')
      .replaceAll(/\](?=[([:])/g, '] ')
      .replaceAll(/<(?=[A-Za-z/!?])/g, '‹')
      .replaceAll(/~{3,}/g, '~~')
  );
}
