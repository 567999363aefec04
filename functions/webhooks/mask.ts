/** Fields whose text is secret by their name, wherever they stand. */
const secretField =
  /(secret|passw(or)?d|passphrase|authorization|credential|private_?-?key|api_?-?key|access_?-?key|signature|callback_url)|(^|[_-]|[a-z](?=T))tokens?$/i;
/** Texts that are secret by their form. */
const secretTexts: readonly [RegExp, string][] = [
  // Our own: keys, sessions, webhooks.
  [/svc(?:s|wh)?_[a-z0-9_]{40,}/g, '[masked]'],
  // GitHub, GitLab, Slack, AWS, Standard Webhooks.
  [/\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})/g, '[masked]'],
  [/\bgl[a-z]{2,6}-[\w-]{16,}/g, '[masked]'],
  [/\bxox[abeprs]-[\w-]{10,}/g, '[masked]'],
  [/\bAKIA[0-9A-Z]{16}\b/g, '[masked]'],
  [/\bwhsec_[A-Za-z0-9+/=_-]{16,}/g, '[masked]'],
  [/\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, '[masked]'],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, '[masked]'],
  // Credentials in a URL.
  [/(\w:\/\/)[^/\s:@]*:[^/\s@]+@/g, '$1[masked]@'],
];
/** Of longer bodies the beginning is kept. */
const bodyLimit = 64 * 1024;

/** A text without what is recognised as a secret. */
export function maskText(text: string, secrets: readonly string[]): string {
  let masked = text;
  for (const secret of secrets) masked = masked.replaceAll(secret, '[masked]');
  for (const [pattern, by] of secretTexts) masked = masked.replace(pattern, by);
  return masked;
}

/**
 * A body as it may be kept and shown: without the given secrets, without texts that look like one, and without the values
 * of fields whose names say so.
 * @param parsed the body when it is JSON
 */
export function maskBody(rawBody: Buffer, parsed: unknown, secrets: readonly string[]): string {
  const text =
    parsed === undefined
      ? rawBody.subarray(0, bodyLimit).toString('utf8').replaceAll('\0', '\uFFFD')
      : JSON.stringify(parsed, (key, value: unknown) =>
          typeof value === 'string' && value !== '' && secretField.test(key) ? '[masked]' : value,
        );
  return maskText(text, secrets).slice(0, bodyLimit);
}
