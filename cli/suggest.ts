/** What other tools call `ssh` or `console`. */
export const shellCommand = 'svc app exec -it <app> -- sh';

/** Names that other tools give to commands of the same meaning, in the order of likelihood. */
const commandSynonyms: Readonly<Record<string, readonly string[]>> = {
  add: ['create', 'set'],
  change: ['update', 'set'],
  connect: ['port-forward'],
  copy: ['cp'],
  describe: ['show', 'status'],
  destroy: ['delete', 'remove', 'revoke'],
  edit: ['update', 'set'],
  get: ['show', 'list', 'status'],
  info: ['show', 'status'],
  inspect: ['show', 'status'],
  log: ['logs'],
  modify: ['update', 'set'],
  new: ['create'],
  ps: ['list', 'show'],
  redeploy: ['restart'],
  releases: ['history'],
  remove: ['delete', 'revoke'],
  revisions: ['history'],
  signin: ['login'],
  signout: ['logout'],
  switch: ['use'],
  tail: ['logs'],
  trigger: ['run', 'test'],
  undo: ['rollback'],
  unset: ['delete', 'remove'],
  view: ['show', 'status'],
};

/** Names that other tools give to options of the same meaning. */
const optionSynonyms: Readonly<Record<string, readonly string[]>> = {
  '--cron': ['--schedule'],
  '--domain': ['--hostname'],
  '--force': ['--yes'],
  '--format': ['--output'],
  '--instances': ['--replicas'],
  '--limit': ['--tail'],
  '--lines': ['--tail'],
  '--namespace': ['--environment'],
  '--ns': ['--environment'],
  '--scale': ['--replicas'],
  '--stage': ['--environment'],
  '--tz': ['--time-zone'],
  '--url': ['--api'],
};

/** The command that the user probably meant. */
export function commandLike(typed: string, names: readonly string[]): string | undefined {
  return meant(typed, names, commandSynonyms);
}

/** The option that the user probably meant, such as `--replicas`. */
export function optionLike(typed: string, names: readonly string[]): string | undefined {
  return meant(typed, names, optionSynonyms);
}

function meant(
  typed: string,
  names: readonly string[],
  synonyms: Readonly<Record<string, readonly string[]>>,
): string | undefined {
  const similar = Object.hasOwn(synonyms, typed) ? synonyms[typed] : undefined;
  return similar?.find((name) => names.includes(name)) ?? suggestion(typed, names);
}

/** The word that the user probably meant: the only one with this prefix, or the closest one with at most two typos. */
export function suggestion(typed: string, words: readonly string[]): string | undefined {
  const completions = words.filter((word) => word.startsWith(typed));
  if (completions.length === 1) return completions[0];
  const maxDistance = typed.replace(/^-+/, '').length <= 3 ? 1 : 2;
  // Of equally close words, one that the user may have begun to type comes first.
  const rank = (word: string) => (word.startsWith(typed) ? 0 : 1);
  return words
    .map((word) => ({ word, distance: editDistance(typed, word) }))
    .filter(({ distance }) => distance <= maxDistance)
    .sort((a, b) => a.distance - b.distance || rank(a.word) - rank(b.word))[0]?.word;
}

/** The number of insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
function editDistance(a: string, b: string): number {
  const rows: number[][] = Array.from({ length: a.length + 1 }, (_, i) => [i]);
  const at = (i: number, j: number) => rows[i]?.[j] ?? 0;
  for (let j = 0; j <= b.length; j++) rows[0] = [...(rows[0] ?? []).slice(0, j), j];
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const best = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + cost);
      rows[i] = [...(rows[i] ?? []).slice(0, j), swapped ? Math.min(best, at(i - 2, j - 2) + 1) : best];
    }
  }
  return at(a.length, b.length);
}
