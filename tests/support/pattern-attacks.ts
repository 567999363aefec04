/** A part of a regular expression; neither characters nor alternatives means a position, such as `^`. */
interface Part {
  /** The source of a set of characters, such as `a`, `\\d` or `[a-z]`. */
  set?: string;
  /** A group. */
  alternatives?: Part[][];
  /** The group only looks ahead or behind. */
  looks?: boolean;
  /** How often the part occurs at least. */
  min: number;
  /** Whether exactly `min` times. */
  fixed: boolean;
}

/** How a part ends: `*`, `+`, `?`, `{n}`, `{n,}` or `{n,m}`, lazy or not. */
const quantifier = /(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/y;
const groupStart = /\((?:\?(?:[:=!]|<[=!]|<\w+>))?/y;
const escape = /\\(?:p\{[^}]*\}|P\{[^}]*\}|u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|k<\w+>|[^])/y;
const characterClass = /\[(?:[^\]\\]|\\[^])*\]/y;

/** Parses what the sources here use of the grammar. @throws Error for other text */
function parse(source: string): Part[][] {
  let index = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = index;
    const match = pattern.exec(source);
    if (match) index += match[0].length;
    return match;
  };
  const disjunction = (): Part[][] => {
    const alternatives: Part[][] = [[]];
    while (index < source.length && source[index] !== ')') {
      if (source[index] === '|') {
        index++;
        alternatives.push([]);
      } else alternatives.at(-1)?.push(quantified(part()));
    }
    return alternatives;
  };
  const part = (): Pick<Part, 'set' | 'alternatives' | 'looks'> => {
    const start = take(groupStart)?.[0];
    if (start !== undefined) {
      const alternatives = disjunction();
      if (source[index++] !== ')') throw new Error(`A group of /${source}/ does not end.`);
      return { alternatives, looks: /[=!]$/.test(start) };
    }
    const set = take(characterClass)?.[0] ?? take(escape)?.[0] ?? String.fromCodePoint(source.codePointAt(index) ?? 0);
    if (!set.startsWith('[') && !set.startsWith('\\')) index += set.length;
    return /^(?:\^|\$|\\[bB\d]|\\k.*)$/.test(set) ? {} : { set };
  };
  const quantified = (part: Pick<Part, 'set' | 'alternatives' | 'looks'>): Part => {
    const match = take(quantifier);
    if (!match) return { ...part, min: 1, fixed: true };
    const [text, from, comma] = match;
    if (from !== undefined) return { ...part, min: Number(from), fixed: comma === '' };
    return { ...part, min: text.startsWith('+') ? 1 : 0, fixed: false };
  };
  const result = disjunction();
  if (index < source.length) throw new Error(`/${source}/ was parsed only up to character ${index}.`);
  return result;
}

/** Characters of every usual class, and those that an expression names. */
const usualCharacters = Array.from('aAfzZ09 \t\n\r\0-_./:=!"\'<>@%,;()[]{}\\^$*+?|#&~`\u00e9\u{1f600}');

/** This many of the first and of the last: the most and the least usual. */
const ends = <T>(items: readonly T[], count: number): T[] => [
  ...items.slice(0, count),
  ...items.slice(count).slice(-count),
];

export interface Attack {
  prefix: string;
  /** The part that is repeated. */
  pump: string;
  suffix: string;
}

/** Chooses characters for the sets of an expression; those that many sets contain give it the most ways to match. */
function characterChoice(alternatives: Part[][], { source, flags }: RegExp) {
  const sets = new Map<string, RegExp>();
  const collect = ({ set, alternatives = [] }: Part) => {
    if (set !== undefined) sets.set(set, new RegExp(`^${set}$`, flags.replaceAll(/[gmy]/g, '')));
    alternatives.flat().forEach(collect);
  };
  alternatives.flat().forEach(collect);
  const kinds = new Map<string, { character: string; count: number }>();
  for (const character of new Set([...usualCharacters, ...Array.from(source)])) {
    const containing = [...sets].filter(([, pattern]) => pattern.test(character)).map(([set]) => set);
    // Characters in the same sets attack alike, but for `\b`.
    const kind = [/\w/.test(character), ...containing].join('\n');
    if (!kinds.has(kind)) kinds.set(kind, { character, count: containing.length });
  }
  const representatives = [...kinds.values()]
    .toSorted((one, other) => other.count - one.count)
    .map(({ character }) => character);
  return {
    of: (set: string) =>
      ends(
        representatives.filter((character) => sets.get(set)?.test(character)),
        3,
      ),
    representatives,
  };
}

const isLiteral = (part: Part | undefined) =>
  part?.set !== undefined && part.fixed && part.min === 1 && !/^(?:\.|\[.*|\\[a-zA-Z].*)$/s.test(part.set);

/**
 * Generates hostile inputs for a regular expression from its own structure: every run of neighbouring parts repeated, with
 * and without what must stand before it, and with several ends that can prevent the match.
 */
export function attacksOn(expression: RegExp): Attack[] {
  const alternatives = parse(expression.source);
  const characters = characterChoice(alternatives, expression);
  const textsOf = ({ set, alternatives = [], looks, min }: Part): string[] => {
    const once = set === undefined ? alternatives.flatMap(textsOfSequence) : characters.of(set);
    return looks || once.length === 0 ? [''] : ends(once, 4).map((text) => text.repeat(Math.max(min, 1)));
  };
  const textsOfSequence = (parts: readonly Part[]): string[] => {
    const texts = parts.map(textsOf);
    const count = Math.max(1, ...texts.map(({ length }) => length));
    return Array.from({ length: count }, (_, index) => texts.map((some) => some[index % some.length] ?? '').join(''));
  };
  const { representatives } = characters;
  const rare = representatives.at(-1) ?? '';
  const suffixes = ['', ...ends(representatives, 3), `${rare}\n${rare}`];
  const attacks = new Map<string, Attack>();
  const visit = (parts: readonly Part[], before: string) => {
    const splitsLiteral = (index: number) => isLiteral(parts[index - 1]) && isLiteral(parts[index]);
    for (const [from, part] of parts.entries()) {
      const texts = textsOfSequence(parts.slice(0, from));
      const prefixes = [texts[0] ?? '', texts.at(-1) ?? ''].map((text) => before + text);
      for (const alternative of part.alternatives ?? []) visit(alternative, prefixes[0] ?? '');
      if (splitsLiteral(from)) continue;
      for (let to = from + 1; to <= parts.length; to++) {
        if (splitsLiteral(to)) continue;
        for (const pump of new Set(textsOfSequence(parts.slice(from, to)))) {
          if (pump === '') continue;
          for (const start of ['', rare, ...prefixes]) {
            for (const suffix of suffixes) {
              attacks.set(JSON.stringify([start, pump, suffix]), { prefix: start, pump, suffix });
            }
          }
        }
      }
    }
  };
  for (const parts of alternatives) visit(parts, '');
  return [...attacks.values()];
}

/** The input of an attack with about this many characters. */
export function attackText({ prefix, pump, suffix }: Attack, size: number): string {
  return prefix + pump.repeat(Math.ceil(size / pump.length)) + suffix;
}
