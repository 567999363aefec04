/**
 * How well a name answers what the user wrote: all letters occur in this order, and a match at the start of a word or right
 * after the letter before counts more. Pure, and linear in the length of the name for each letter.
 * @returns undefined when it does not match; else a larger number is better
 */
export function scoreOf(written: string, name: string): number | undefined {
  const text = name.toLowerCase();
  let [score, from] = [0, 0];
  for (const word of written.toLowerCase().split(/\s+/).filter(Boolean)) {
    // A whole part of the name is better than letters from all over it.
    const whole = text.indexOf(word);
    if (whole >= 0) {
      score += 20 * word.length + (isStart(text, whole) ? 30 : 0) + (whole === 0 ? 10 : 0);
      continue;
    }
    from = 0;
    for (const letter of word) {
      const at = text.indexOf(letter, from);
      if (at < 0) return undefined;
      score += at === from && from > 0 ? 10 : isStart(text, at) ? 8 : 1;
      from = at + 1;
    }
  }
  // Of two names with the same letters, the shorter one is closer.
  return score === 0 ? 0 : score - text.length / 100;
}

function isStart(text: string, at: number): boolean {
  return at === 0 || !/[a-z0-9]/.test(text[at - 1] ?? '');
}

/** The items that match, the best first; equal ones keep their order. Pure. */
export function bestMatches<Item>(written: string, items: readonly Item[], textOf: (item: Item) => string): Item[] {
  return items
    .flatMap((item) => {
      const score = scoreOf(written, textOf(item));
      return score === undefined ? [] : [{ item, score }];
    })
    .toSorted((a, b) => b.score - a.score)
    .map(({ item }) => item);
}
