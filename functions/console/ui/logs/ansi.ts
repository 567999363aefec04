/** A part of a line with the same look; `classes` are those of the style sheet. */
export interface Span {
  text: string;
  classes: string;
}

/** Bounded repetitions: the time for a line of a stranger's program stays linear. */
// oxlint-disable-next-line no-control-regex -- escape sequences begin with one
const escapes = /\u001B(?:\[([0-9;:?]{0,64})[ -/]{0,4}([@-~])|\][^\u0007\u001B]{0,2000}(?:\u0007|\u001B\\)|[@-Z\\^_])/g;

const colours = [
  'text-zinc-500 dark:text-zinc-400',
  'text-red-700 dark:text-red-400',
  'text-emerald-800 dark:text-emerald-400',
  'text-amber-800 dark:text-amber-300',
  'text-blue-700 dark:text-blue-400',
  'text-fuchsia-800 dark:text-fuchsia-400',
  'text-cyan-800 dark:text-cyan-300',
  '',
];

interface Look {
  colour: string;
  isBold: boolean;
  isUnderlined: boolean;
}

const plain: Look = { colour: '', isBold: false, isUnderlined: false };

/** ECMA-48, select graphic rendition; of the 256 and direct colours none is shown. */
function applied(look: Look, parameters: string): Look {
  const codes = parameters.split(/[;:]/).map(Number);
  const next = { ...look };
  for (let index = 0; index < codes.length; index++) {
    const code = codes[index] ?? 0;
    if (code === 0) Object.assign(next, plain);
    else if (code === 1) next.isBold = true;
    else if (code === 22) next.isBold = false;
    else if (code === 4) next.isUnderlined = true;
    else if (code === 24) next.isUnderlined = false;
    else if (code >= 30 && code <= 37) next.colour = colours[code - 30] ?? '';
    else if (code >= 90 && code <= 97) next.colour = colours[code - 90] ?? '';
    else if (code === 39) next.colour = '';
    else if (code === 38 || code === 48) index += codes[index + 1] === 5 ? 2 : 4;
  }
  return next;
}

function classesOf({ colour, isBold, isUnderlined }: Look): string {
  return [colour, isBold && 'font-bold', isUnderlined && 'underline'].filter(Boolean).join(' ');
}

/** What a terminal shows of a line that returns to its beginning: what was written last. */
function afterReturn(line: string): string {
  const end = line.endsWith('\r') ? line.length - 1 : line.length;
  return line.slice(end === 0 ? 0 : line.lastIndexOf('\r', end - 1) + 1, end);
}

/** A line with the colours that its program set. Other escape sequences are left out. */
export function spansOf(line: string): Span[] {
  const shown = afterReturn(line);
  const spans: Span[] = [];
  let look = plain;
  let from = 0;
  const add = (to: number) => {
    if (to > from) spans.push({ text: shown.slice(from, to), classes: classesOf(look) });
  };
  for (const match of shown.matchAll(escapes)) {
    add(match.index);
    from = match.index + match[0].length;
    if (match[2] === 'm') look = applied(look, match[1] ?? '');
  }
  add(shown.length);
  return spans;
}

/** A line as it is shown: without escape sequences, and without what was written over. */
export function plainText(line: string): string {
  return hasControls(line) ? afterReturn(line).replace(escapes, '') : line;
}

/** All lines of a text as they are shown. */
export function plainLines(text: string): string {
  return hasControls(text) ? text.split('\n').map(plainText).join('\n') : text;
}

/** Whether a line may be shown in another way than it was written. */
const hasControls = (line: string) => line.includes('\u001B') || line.includes('\r');

/** Escape sequences that contain text: titles and links. */
const isTextual = (sequence: string) => sequence.startsWith('\u001B]');

/** Control characters as their pictures (Unicode, 2400 to 2421). */
// oxlint-disable-next-line no-control-regex -- the characters that a terminal obeys
const pictures = (text: string) => text.replace(/[\u0000-\u0008\u000A-\u001F\u007F]/g, pictureOf);

function pictureOf(character: string): string {
  const code = character.charCodeAt(0);
  return String.fromCharCode(code === 0x7f ? 0x2421 : 0x2400 + code);
}

/**
 * All text of a line that {@link plainText} leaves a part of out, with pictures of its control characters: what was written
 * over, and what is inside escape sequences. A program must not be able to hide what it prints. Undefined when the line
 * hides nothing.
 */
export function wholeText(line: string): string | undefined {
  if (!hasControls(line)) return undefined;
  const end = line.endsWith('\r') ? line.length - 1 : line.length;
  const hidesText = afterReturn(line).length < end || (line.match(escapes)?.some(isTextual) ?? false);
  return hidesText ? pictures(line.replace(escapes, (sequence) => (isTextual(sequence) ? sequence : ''))) : undefined;
}

/**
 * The parts of a line, divided where a text that is searched begins and ends, whatever its case. After `max` parts, the
 * rest is one.
 */
export function highlighted(spans: readonly Span[], search: string, max = Infinity): (Span & { isMatch: boolean })[] {
  const whole = spans.map(({ text }) => text).join('');
  const ranges = rangesOf(whole, search);
  const parts: (Span & { isMatch: boolean })[] = [];
  let offset = 0;
  let next = 0;
  const isFull = () => parts.length >= max - 1;
  for (const { text, classes } of spans) {
    if (isFull()) break;
    let from = 0;
    while (from < text.length && !isFull()) {
      while (next < ranges.length && (ranges[next]?.to ?? 0) <= offset + from) next++;
      const range = ranges[next];
      const isMatch = range !== undefined && range.from <= offset + from;
      const border = range === undefined ? Infinity : isMatch ? range.to : range.from;
      const to = Math.min(text.length, border - offset);
      parts.push({ text: text.slice(from, to), classes, isMatch });
      from = to;
    }
    offset += from;
  }
  if (offset < whole.length) parts.push({ text: whole.slice(offset), classes: '', isMatch: false });
  return parts;
}

/** Whether a line has a text, shown or not, whatever its case. */
export function contains(line: string, search: string): boolean {
  if (search === '') return false;
  const needle = folded(search);
  const has = (text: string) => folded(text).includes(needle);
  return has(plainText(line)) || (hasControls(line) && (has(line.replace(escapes, '')) || has(wholeText(line) ?? '')));
}

/** Whether the shown part of a line has a text, as {@link highlighted} marks it. */
export function shows(line: string, search: string): boolean {
  return search !== '' && folded(plainText(line)).includes(folded(search));
}

/**
 * A text in lower case, each letter at its position: the only letter whose lower case is longer loses its dot, and the
 * sigma at the end of a word is one like any other.
 */
function folded(text: string): string {
  return text.replaceAll('\u0130', 'i').toLowerCase().replaceAll('\u03C2', '\u03C3');
}

function rangesOf(text: string, search: string): { from: number; to: number }[] {
  if (search === '') return [];
  const [lower, needle] = [folded(text), folded(search)];
  const ranges = [];
  for (let from = lower.indexOf(needle); from >= 0; from = lower.indexOf(needle, from + needle.length)) {
    ranges.push({ from, to: from + needle.length });
  }
  return ranges;
}
