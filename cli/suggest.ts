/** The known word that was probably meant: at most two typos away, or one that starts with it. */
export function suggestion(typed: string, known: readonly string[]): string | undefined {
  const started = known.filter((word) => word.startsWith(typed));
  if (started.length === 1) return started[0];
  const allowed = typed.replace(/^-+/, '').length <= 3 ? 1 : 2;
  return known
    .map((word) => ({ word, distance: editDistance(typed, word) }))
    .filter(({ distance }) => distance <= allowed)
    .sort((a, b) => a.distance - b.distance)[0]?.word;
}

/** Insertions, deletions, replacements and swaps of neighbours between two words. */
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
