import { jsonOf } from '../../runtime/host/http-body.ts';

/** Fields whose value is secret by their name, wherever they stand. */
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

/** As forms are written: anything else in a name or a value is escaped. */
const formText = /^[\w.[\]%+-]+=[^=&\s]*(?:&[\w.[\]%+-]+=[^=&\s]*)*$/;
/** In place of a body in which nothing tells what is secret. */
const notKept = '[not kept: neither JSON nor a form, so that secrets in it could not be masked]';

/**
 * A body as it may be kept and shown: without the given secrets, without texts that look like one, and without the values
 * of fields whose names say so. What was sent under another type than its own is read all the same.
 * @param parsed the body when it is JSON
 */
export function maskBody(rawBody: Buffer, parsed: unknown, secrets: readonly string[]): string {
  const value = parsed ?? parsedJson(rawBody);
  const text = value === undefined ? maskedForm(rawBody) : maskedJson(value);
  return maskText(text ?? notKept, secrets).slice(0, bodyLimit);
}

/** Secret fields as a whole: what is in them has names that say nothing. */
function maskedJson(json: unknown): string {
  return JSON.stringify(json, (key, value: unknown) =>
    value !== null && value !== '' && secretField.test(key) ? '[masked]' : value,
  );
}

/** A form as it reads, with the JSON in it masked as any; undefined for what is none, such as JSON that was cut off. */
function maskedForm(rawBody: Buffer): string | undefined {
  const text = rawBody.toString('utf8').trim();
  if (!formText.test(text)) return undefined;
  const fields: string[] = [];
  for (const [name, value] of new URLSearchParams(text)) {
    const json = /^\s*[[{]/.test(value) ? parsedJson(Buffer.from(value)) : value;
    if (json === undefined) return undefined;
    const shown = typeof json === 'string' ? json.replaceAll('\0', '\uFFFD') : maskedJson(json);
    fields.push(`${name}=${value !== '' && secretField.test(name) ? '[masked]' : shown}`);
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
