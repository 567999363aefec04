import { stripTypeScriptTypes } from 'node:module';

/** One change of a source file that its tests should notice. */
export interface Mutant {
  file: string;
  line: number;
  /** Where the change begins in the source. */
  offset: number;
  /** Old and new text of the change, as `=== -> !==`; with `#2` for the second such place of a line. */
  change: string;
  /** Names the mutant by its file, the text of its line and the change, independent of line numbers. */
  key: string;
  /** The whole file without the change. */
  source: string;
  /** The whole file with the change. */
  text: string;
}

/** Replacements in code outside strings and comments. */
const operators: readonly (readonly [RegExp, (match: string) => string])[] = [
  [/===/g, () => '!=='],
  [/!==/g, () => '==='],
  [/ <= /g, () => ' < '],
  [/ >= /g, () => ' > '],
  [/ < /g, () => ' <= '],
  [/ > /g, () => ' >= '],
  [/ && /g, () => ' || '],
  [/ \|\| /g, () => ' && '],
  [/ \?\? /g, () => ' && '],
  [/ - /g, () => ' + '],
  [/ \* /g, () => ' / '],
  [/ % /g, () => ' * '],
  [/\btrue\b/g, () => 'false'],
  [/\bfalse\b/g, () => 'true'],
  [/\.some\(/g, () => '.every('],
  [/\.every\(/g, () => '.some('],
  [/\bif \(/g, () => 'if (false && '],
  [/(?<=return )(?!undefined)[\w.]+(?=;)/g, () => 'undefined'],
  [/(?<![\w.$])\d[\d_]*(?![\w.])/g, (digits) => String(Number(digits.replaceAll('_', '')) + 1)],
];

/** Every mutant of a file that Node can still load. */
export function mutantsOf(file: string, source: string): Mutant[] {
  const code = blank(source);
  const lines = source.split('\n');
  return operators.flatMap(([pattern, replace]) =>
    [...code.matchAll(pattern)].flatMap((match) => {
      const [before] = match;
      const after = replace(before);
      let rest = source.slice(match.index + before.length);
      if (before === 'if (') {
        // The whole condition is false, not only what comes before its first `||`.
        const length = lengthInside(code.slice(match.index + before.length));
        rest = `(${rest.slice(0, length)})${rest.slice(length)}`;
      }
      const text = source.slice(0, match.index) + after + rest;
      if (!isValid(text)) return [];
      const line = source.slice(0, match.index).split('\n').length;
      const lineStart = source.lastIndexOf('\n', match.index) + 1;
      const ordinal = [...code.slice(lineStart, match.index).matchAll(pattern)].filter(
        ([same]) => same === before,
      ).length;
      const change = `${before.trim()} -> ${after.trim()}${ordinal > 0 ? ` #${ordinal + 1}` : ''}`;
      const key = `${file}: ${lines[line - 1]?.trim()}: ${change}`;
      return [{ file, line, offset: match.index, change, key, source, text }];
    }),
  );
}

/** The length of what comes before the parenthesis that closes a condition. */
function lengthInside(code: string): number {
  let depth = 1;
  for (let index = 0; index < code.length; index++) {
    if (code[index] === '(') depth++;
    if (code[index] === ')' && --depth === 0) return index;
  }
  return code.length;
}

/** The source with comments, strings, regular expressions, imports and type declarations replaced by blanks. */
function blank(source: string): string {
  const ignored = [
    /\/\*[\s\S]*?\*\//,
    /\/\/[^\n]*/,
    /'(?:[^'\\\n]|\\.)*'/,
    /`(?:[^`\\]|\\.)*`/,
    /(?<=(?:[(,=:[!&|?>]|\breturn) ?|^ *)\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/,
    /^import [^;]*;/,
    /^(?:export )?interface [\s\S]*?^\}/,
    /^(?:export )?type [^;]*;/,
  ].map(({ source: pattern }) => pattern);
  return source.replace(new RegExp(ignored.join('|'), 'gm'), (text) => text.replace(/[^\n]/g, ' '));
}

function isValid(text: string): boolean {
  try {
    stripTypeScriptTypes(text);
    return true;
  } catch {
    return false;
  }
}
