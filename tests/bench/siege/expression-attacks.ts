/** A webhook whose text makes a regular expression of a higher degree than linear take long. */
export interface ExpressionAttack {
  headers: Record<string, string>;
  body: string;
}

/** Parts whose repetition such expressions fail on: names of images, commits, branches, and what logs mask. */
const parts = ['a/', 'a:', 'a-', '_', '@', ' ', '\t', '%', '/', 'a.a', 'eyJ', ':latest', '<', 'https://a@', '\\u0000'];

/** Webhooks of this size in every sender's form, each with one of these parts in every text that is read. */
export function expressionAttacks(bytes: number): ExpressionAttack[] {
  return parts.flatMap((part) => {
    const long = (share: number) => part.repeat(Math.floor((bytes * share) / part.length));
    const json = (value: object) => JSON.stringify(value);
    return [
      { headers: {}, body: json({ image: long(0.9) }) },
      { headers: {}, body: json({ image: `${long(0.002)}!`, commitMessage: long(0.03), branch: long(0.8) }) },
      {
        headers: { 'x-github-event': 'push' },
        body: json({
          ref: `refs/heads/${long(0.4)}`,
          after: long(0.4),
          head_commit: { id: long(0.01), message: part },
        }),
      },
      {
        headers: { 'x-gitlab-event': 'Push Hook' },
        body: json({ ref: long(0.4), checkout_sha: long(0.1), commits: [{ id: part, message: long(0.3) }] }),
      },
      // Not JSON, so that the error quotes it.
      { headers: {}, body: long(1) },
    ];
  });
}
