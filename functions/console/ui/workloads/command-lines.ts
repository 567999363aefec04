/** The words of a command by the lines of a text. A space is part of a word, and no shell interprets anything. */
export function commandWords(text: string): string[] {
  return text.split(/\r?\n/).filter((line) => line !== '');
}

/** A command as one line, as `svc` divides it into words: in double quotes where a word needs them. */
export function commandLine(words: readonly string[]): string {
  return words
    .map((word) => (/^[\w./:@%+=,-]+$/.test(word) ? word : `"${word.replaceAll(/["\\$`]/g, String.raw`\$&`)}"`))
    .join(' ');
}
