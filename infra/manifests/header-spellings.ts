/**
 * A regular expression in Go's syntax, which Traefik takes, that matches these headers in every spelling that a server or
 * gateway interface may read as the same name, such as `x_svc-key.name`: some replace every character other than letters
 * and digits with an underscore. It ignores case, as HTTP does. Pure.
 */
export function spellingsPattern(headers: readonly string[]): string {
  const names = headers.map((header) => header.toLowerCase().replaceAll('-', '[^a-z0-9]'));
  return `(?i)^(${names.join('|')})$`;
}
