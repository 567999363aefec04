/** Why a pattern is refused. */
export interface PatternFault {
  message: string;
  /** Whether a real API server takes it: it is just not read alike here, where JavaScript reads it. */
  onlyHere: boolean;
}

/** How often something may be repeated, repetitions within it multiplied. */
const repeatMax = 1_000;
const counted = /^\{(\d+)(?:,(\d*))?\}/;
/** Escapes that Go and JavaScript read alike; in a class all but those of word boundaries. */
const commonEscapes = /^[dDsSwWbBfnrtv0]$/;
const goEscapes = /^[AzaQpPx]$/;
const alphanumeric = /^[0-9A-Za-z]$/;

class Refused extends Error {
  readonly onlyHere: boolean;
  constructor(message: string, onlyHere = false) {
    super(message);
    this.onlyHere = onlyHere;
  }
}

const onlyHere = (part: string) => new Refused(`is not read here as a cluster does: \`${part}\``, true);

/**
 * Why a pattern of a schema cannot be taken: because of what Go's `regexp` (RE2) does not have, in its words, or because
 * JavaScript would read it in another way. https://github.com/google/re2/wiki/Syntax
 */
export function patternFault(pattern: string): PatternFault | undefined {
  try {
    checkRe2(pattern);
    void new RegExp(pattern);
    return undefined;
  } catch (error) {
    if (!(error instanceof Refused)) return { message: `is not read here: ${String(error)}`, onlyHere: true };
    if (error.onlyHere) return { message: error.message, onlyHere: true };
    const message = `must be a valid regular expression, but isn't: error parsing regexp: ${error.message}`;
    return { message, onlyHere: false };
  }
}

/** @throws Refused */
function checkRe2(pattern: string): void {
  /** Of each open group, and of the whole: the greatest product of counts in it. */
  const groups: number[] = [1];
  /** Of what was read last and may be repeated: its own product; undefined where there is nothing. */
  let atom: number | undefined;
  /** The repetition that was read last, if nothing else came after it. */
  let repetition: string | undefined;
  const read = (weight: number) => {
    atom = weight;
    repetition = undefined;
    groups.push(Math.max(groups.pop() ?? 1, weight));
  };
  let at = 0;
  while (at < pattern.length) {
    const rest = pattern.slice(at);
    const [operator] = counted.exec(rest) ?? /^[*+?]/.exec(rest) ?? [];
    if (operator !== undefined) {
      at += operator.length;
      if (repetition !== undefined)
        throw new Refused(`invalid nested repetition operator: \`${repetition}${operator}\``);
      const times = countOf(operator);
      if (atom === undefined) throw new Refused(`missing argument to repetition operator: \`${operator}\``);
      const weight = atom * times;
      if (weight > repeatMax) throw new Refused(`invalid repeat count: \`${operator}\``);
      read(weight);
      // As few as possible.
      const lazy = pattern[at] === '?' ? '?' : '';
      at += lazy.length;
      repetition = operator + lazy;
    } else if (rest.startsWith('(')) {
      at += groupStart(rest).length;
      groups.push(1);
      [atom, repetition] = [undefined, undefined];
    } else if (rest.startsWith(')')) {
      const inner = groups.pop() ?? 1;
      if (groups.length === 0) throw new Refused(`unexpected ): \`${pattern}\``);
      at += 1;
      read(inner);
    } else if (rest.startsWith('|')) {
      at += 1;
      [atom, repetition] = [undefined, undefined];
    } else {
      at += (rest.startsWith('[') ? classAt(rest) : characterAt(rest, false)).length;
      read(1);
    }
  }
  if (groups.length > 1) throw new Refused(`missing closing ): \`${pattern}\``);
}

/** The most that a repetition repeats, as far as it counts. */
function countOf(operator: string): number {
  const [, least, most] = counted.exec(operator) ?? [];
  if (least === undefined) return 1;
  const [from, to] = [Number(least), most ? Number(most) : undefined];
  if (from > repeatMax || (to !== undefined && (to > repeatMax || to < from))) {
    throw new Refused(`invalid repeat count: \`${operator}\``);
  }
  return Math.max(1, to ?? from);
}

function groupStart(rest: string): string {
  if (!rest.startsWith('(?')) return '(';
  if (rest.startsWith('(?:')) return '(?:';
  const [named] = /^\(\?<[A-Za-z_]\w*>/.exec(rest) ?? [];
  if (named !== undefined) return named;
  if (/^\(\?(?:P<|[imsU-]+[:)])/.test(rest)) throw onlyHere(rest.slice(0, 4));
  if (rest.startsWith('(?<')) throw new Refused(`invalid named capture: \`${rest}\``);
  throw new Refused(`invalid or unsupported Perl syntax: \`${rest.slice(0, 3)}\``);
}

/** A class from its bracket to the other one. */
function classAt(rest: string): string {
  let at = rest.startsWith('[^') ? 2 : 1;
  // The first one is a bracket in Go, and the end of a class without members in JavaScript.
  if (rest[at] === ']')
    throw rest.includes(']', at + 1) ? onlyHere('[]') : new Refused(`missing closing ]: \`${rest}\``);
  while (at < rest.length && rest[at] !== ']') {
    const inner = rest.slice(at);
    if (inner.startsWith('[:')) throw onlyHere('[:');
    const from = characterAt(inner, true);
    const [, to] = /^-([^\]\\])/su.exec(inner.slice(from.length)) ?? [];
    if (to !== undefined && from.length === 1 && to < from) {
      throw new Refused(`invalid character class range: \`${from}-${to}\``);
    }
    at += from.length + (to === undefined ? 0 : 1 + to.length);
  }
  if (at >= rest.length) throw new Refused(`missing closing ]: \`${rest}\``);
  return rest.slice(0, at + 1);
}

/** A character, or what stands for one. */
function characterAt(rest: string, inClass: boolean): string {
  if (!rest.startsWith('\\')) return firstOf(rest);
  const escaped = firstOf(rest.slice(1));
  if (escaped === '') throw new Refused('trailing backslash at end of expression: ``');
  const [hex] = /^\\x[0-9A-Fa-f]{2}/.exec(rest) ?? [];
  if (hex !== undefined) return hex;
  const boundary = escaped === 'b' || escaped === 'B';
  if (commonEscapes.test(escaped) && !(inClass && boundary)) return `\\${escaped}`;
  if (/^[\0-\x7f]$/.test(escaped) && !alphanumeric.test(escaped)) return `\\${escaped}`;
  if (goEscapes.test(escaped) || /^\\[1-7][0-7]/.test(rest)) throw onlyHere(`\\${escaped}`);
  throw new Refused(`invalid escape sequence: \`\\${escaped}\``);
}

/** The first character, whole. */
function firstOf(text: string): string {
  return String.fromCodePoint(...(text === '' ? [] : [text.codePointAt(0) ?? 0]));
}
