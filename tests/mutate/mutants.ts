import { stripTypeScriptTypes } from 'node:module';

/** One change of a source file that its tests should notice. */
export interface Mutant {
  file: string;
  line: number;
  /** Where the change begins in the source. */
  offset: number;
  /** Old and new text of the change, as `=== -> !==`. */
  change: string;
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
  return operators.flatMap(([pattern, replace]) =>
    [...code.matchAll(pattern)].flatMap((match) => {
      const [before] = match;
      const after = replace(before);
      const text = source.slice(0, match.index) + after + source.slice(match.index + before.length);
      if (!isValid(text)) return [];
      const line = source.slice(0, match.index).split('\n').length;
      return [{ file, line, offset: match.index, change: `${before.trim()} -> ${after.trim()}`, text }];
    }),
  );
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
