import { usageFailure } from './failure.ts';

/** A part of a word: quoted text, an escaped character or plain text; or else an operator of a shell. */
const part = /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^\s'"\\|&;<>$`()]+)|(\s+)|(.)/gs;

/**
 * The program and arguments of a flag: one value is a command line, whose words are separated and quoted as in a
 * shell; several values are one word each. @throws Failure (usage) for an empty command line, and for what
 * only a shell can do
 */
export function commandWords(typed: readonly string[], { flag, hint }: { flag: string; hint: string }): string[] {
  const [line = ''] = typed;
  if (typed.length !== 1) return [...typed];
  const words: string[] = [];
  let word: string | undefined;
  for (const [text, single, double, escaped, plain, space] of line.matchAll(part)) {
    if (space !== undefined) {
      if (word !== undefined) words.push(word);
      word = undefined;
      continue;
    }
    const value = single ?? double?.replaceAll(/\\(["\\$`])/g, '$1') ?? escaped ?? plain;
    if (value === undefined) throw usageFailure(`${flag} cannot use ${text} outside quotes. ${hint}`);
    word = (word ?? '') + value;
  }
  if (word !== undefined) words.push(word);
  if (words.length === 0) throw usageFailure(`${flag} needs a value, but the value is empty.`);
  return words;
}
