/** Where a command of `svc` acts. */
export interface CommandScope {
  project?: string | undefined;
  environment?: string | undefined;
}

/** A command of `svc` with its project and environment, as a POSIX shell reads it. @param words those after `svc` */
export function commandText(words: readonly string[], { project, environment }: CommandScope): string {
  const scope = [
    ...(project === undefined ? [] : ['--project', project]),
    ...(environment === undefined ? [] : ['--environment', environment]),
  ];
  return ['svc', ...words, ...scope].map(shellWord).join(' ');
}

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
