import { platformTokens } from '../domain/platform-tokens.ts';

/** What stands in place of a secret. */
const mask = '[redacted]';
/** Shorter values are not masked: they occur in ordinary words and numbers. */
const lengthMin = 6;

/**
 * Tokens of others that are recognized by their form: keys of AWS, GitHub, GitLab, npm, Slack, Stripe and AI providers,
 * signing secrets, JSON Web Tokens, private keys, the values of `Authorization` headers, and passwords in URLs.
 */
const tokenPatterns: readonly (readonly [RegExp, string])[] = [
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, mask],
  [
    /\b(?:gh[oprsu]_|github_pat_|glpat-|npm_|xox[abeprs]-|sk-|[prs]k_(?:live|test)_|whsec_)[A-Za-z0-9_+/=-]{16,}/g,
    mask,
  ],
  [/(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g, mask],
  [/-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----[A-Za-z0-9+/=\s\\]*/g, mask],
  [/\b(Bearer|Basic) [A-Za-z0-9._~+/=-]{12,}/gi, `$1 ${mask}`],
  [/(:\/\/[^\s:/@]{0,100}:)[^\s:/@]{1,200}@/g, `$1${mask}@`],
];

/** Masks secrets in texts. */
export type Redact = (text: string) => string;

/**
 * Masks the given values, each also as JSON, a URL and base64 write it, and everything that looks like a token. A value
 * of several lines is also masked line by line, as a log shows it. It takes time in proportion to the text.
 */
export function createRedact(values: Iterable<string> = []): Redact {
  const index = indexOf(values);
  return (text) => {
    const withoutValues = index.forms.size === 0 ? text : maskKnown(text, index);
    return tokenPatterns.reduce(
      (masked, [pattern, replacement]) => masked.replaceAll(pattern, replacement),
      withoutValues.replaceAll(platformTokens, mask),
    );
  };
}

interface Index {
  /** The forms by their first characters, the longest first. */
  forms: ReadonlyMap<string, readonly string[]>;
  /** Whether a form can begin with two characters, by {@link pairOf}: most positions of a text end here. */
  pairs: Uint8Array;
}

function indexOf(values: Iterable<string>): Index {
  const forms = new Map<string, string[]>();
  const pairs = new Uint8Array(0x1_0000);
  for (const form of new Set([...values].flatMap(formsOf))) {
    const start = form.slice(0, lengthMin);
    forms.set(start, [...(forms.get(start) ?? []), form]);
    pairs[pairOf(form, 0)] = 1;
  }
  for (const each of forms.values()) each.sort((a, b) => b.length - a.length);
  return { forms, pairs };
}

function pairOf(text: string, at: number): number {
  return (text.charCodeAt(at) * 31 + text.charCodeAt(at + 1)) & 0xff_ff;
}

/** Longer values, such as files, are masked as they are and line by line only. */
const encodedMax = 4_096;

/** How a value can be written in a text. */
function formsOf(value: string): string[] {
  const lines = value.split(/\r?\n/);
  const texts = lines.length > 1 ? [value, value.trim(), ...lines.map((line) => line.trim())] : [value];
  return texts
    .flatMap((text) => {
      if (text.length > encodedMax) return [text];
      const bytes = Buffer.from(text);
      const base64 = bytes.toString('base64').replaceAll('=', '');
      const encoded = encodeURIComponent(text.toWellFormed());
      return [text, JSON.stringify(text).slice(1, -1), encoded, base64, bytes.toString('base64url')];
    })
    .filter(({ length }) => length >= lengthMin);
}

function maskKnown(text: string, { forms, pairs }: Index): string {
  let result = '';
  let copied = 0;
  for (let at = 0; at + lengthMin <= text.length; at++) {
    if (pairs[pairOf(text, at)] === 0) continue;
    const form = forms.get(text.slice(at, at + lengthMin))?.find((candidate) => text.startsWith(candidate, at));
    if (form === undefined) continue;
    result += text.slice(copied, at) + mask;
    copied = at + form.length;
    at = copied - 1;
  }
  return result + text.slice(copied);
}
