/** Quotes a word for a POSIX shell where it needs quotes: a copied command must not do more than it shows. */
function quote(word: string): string {
  return /^[A-Za-z0-9_./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** Control characters and directions of text, which a terminal can obey in spite of quotes. A line break stays. */
const controls = /[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu;

/** The `svc` command that does the same as a page or button. */
export function commandOf(...words: readonly (string | undefined)[]): string {
  const safe = words.flatMap((word) =>
    word === undefined ? [] : [word.replaceAll(controls, (character) => (character === '\n' ? character : ''))],
  );
  return ['svc', ...safe.map(quote)].join(' ');
}

/** The flags that name an environment. */
export function placeFlags({ project, environment }: { project: string; environment: string }): string[] {
  return ['--project', project, '--environment', environment];
}
