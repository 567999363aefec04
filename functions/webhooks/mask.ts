import { platformTokens } from '../../runtime/domain/platform-tokens.ts';
import { jsonOf } from '../../runtime/http/body.ts';

/** Names of fields that contain a secret, at any depth. */
const secretField =
  /(secret|passw(or)?d|passphrase|authorization|credential|private_?-?key|api_?-?key|access_?-?key|signature|callback_url)|(^|[_-]|[a-z](?=T))tokens?$/i;
/**
 * Patterns of secrets in texts. Their time is linear in the text: where a match can begin inside another attempt's text,
 * a look-behind admits only the first beginning. An expression that is slow comes with a part of each of its matches, whose
 * search is fast.
 */
const secretTexts: readonly [pattern: RegExp, by: string, part?: string][] = [
  [platformTokens, '[masked]'],
  // GitHub, GitLab, Slack, AWS, Standard Webhooks.
  [/\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})/g, '[masked]'],
  [/\bgl[a-z]{2,6}-[\w-]{16,}/g, '[masked]'],
  [/\bxox[abeprs]-[\w-]{10,}/g, '[masked]'],
  [/\bAKIA[0-9A-Z]{16}\b/g, '[masked]'],
  [/\bwhsec_[A-Za-z0-9+/=_-]{16,}/g, '[masked]'],
  // A JSON Web Token, with the word before it.
  [/(?<![\w-])(?=[\w-]*\beyJ[\w-]{8})[\w-]+\.[\w-]{8,}\.[\w-]*/g, '[masked]', 'eyJ'],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, '[masked]'],
  // Credentials in a URL.
  [/(\w:\/\/)[^/\s:@]*:[^/\s@]+@/g, '$1[masked]@'],
];
/** Maximum length of a stored body, in characters; longer bodies are cut. */
const bodyLimit = 64 * 1024;
/** Longer than the secrets that are masked, in characters: the part of a secret before a cut is not recognised. */
const longestSecret = 4_096;
/** Characters of a body that are read. */
const bodyRead = bodyLimit + longestSecret;

/**
 * The start of a text, at most `limit` characters, with known and recognised secrets masked. Reads only a little more
 * than `limit`, so that the work does not grow with what a sender sends.
 */
export function maskedStart(text: string, limit: number, secrets: readonly string[]): string {
  const read = limit + longestSecret;
  let masked = text.slice(0, read);
  for (const secret of secrets) masked = masked.replaceAll(secret, '[masked]');
  for (const [pattern, by, part = ''] of secretTexts) {
    if (masked.includes(part)) masked = masked.replace(pattern, by);
  }
  const end = text.length > read ? masked.length - longestSecret : masked.length;
  return masked.slice(0, Math.min(limit, end));
}

/** A form's syntax: other characters in names and values are escaped. */
const formText = /^[\w.[\]%+-]+=[^=&\s]*(?:&[\w.[\]%+-]+=[^=&\s]*)*$/;
/** The text that is stored instead of a body without structure. */
const placeholder = '[not stored: secrets cannot be masked in a body that is neither JSON nor a form]';

/**
 * A body that may be stored and shown: known secrets, texts that look like secrets, and the values of fields with secret
 * names are masked. The content type is not considered.
 * @param parsed the body, if it is JSON
 */
export function maskBody(rawBody: Buffer, parsed: unknown, secrets: readonly string[]): string {
  const value = parsed ?? parsedJson(rawBody);
  const text = value === undefined ? maskedForm(rawBody) : maskedJson(value);
  return maskedStart(text ?? placeholder, bodyLimit, secrets);
}

/** Masks a secret field with everything inside it. Of a long text, only what {@link maskBody} can read is written. */
function maskedJson(json: unknown): string {
  return JSON.stringify(json, (key, value: unknown) => {
    if (value !== null && value !== '' && secretField.test(key)) return '[masked]';
    return typeof value === 'string' && value.length > bodyRead ? value.slice(0, bodyRead) : value;
  });
}

/** A decoded form with its JSON values masked too; undefined for other texts, such as incomplete JSON. */
function maskedForm(rawBody: Buffer): string | undefined {
  const text = rawBody.toString('utf8').trim();
  if (!formText.test(text)) return undefined;
  const fields: string[] = [];
  for (const [name, value] of new URLSearchParams(text)) {
    const json = /^\s*[[{]/.test(value) ? parsedJson(Buffer.from(value)) : value;
    if (json === undefined) return undefined;
    const masked = typeof json === 'string' ? json.replaceAll('\0', '\uFFFD') : maskedJson(json);
    fields.push(`${name}=${value !== '' && secretField.test(name) ? '[masked]' : masked}`);
  }
  return fields.join('&');
}

function parsedJson(text: Buffer): unknown {
  try {
    return jsonOf(text);
  } catch {
    return undefined;
  }
}
