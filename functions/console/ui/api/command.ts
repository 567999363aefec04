/** Quotes a word for a POSIX shell where it needs quotes: a copied command must not do more than it shows. */
function quote(word: string): string {
  return /^[A-Za-z0-9_./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** The `svc` command that does the same as a page or button. */
export function commandOf(...words: readonly (string | undefined)[]): string {
  return ['svc', ...words.filter((word) => word !== undefined).map(quote)].join(' ');
}

/** The flags that name an environment. */
export function placeFlags({ project, environment }: { project: string; environment: string }): string[] {
  return ['--project', project, '--environment', environment];
}
