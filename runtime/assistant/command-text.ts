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

/** A command with its standard input, as a POSIX shell reads both: nothing in the input is expanded. @param input lines */
export function withInput(command: string, input: string): string {
  const lines = new Set(input.split('\n'));
  let end = 'END';
  while (lines.has(end)) end += '_';
  return `${command} <<'${end}'\n${input}${end}`;
}
