/**
 * A regular expression (Go's syntax, which Traefik takes) for these headers in every spelling that a server or gateway
 * interface may read as the same name, such as `x_svc-key.name`: some turn every character that is no letter and no digit
 * into an underscore. HTTP does not tell cases apart, so the expression does not either. Pure.
 */
export function spellingsPattern(headers: readonly string[]): string {
  const names = headers.map((header) => header.toLowerCase().replaceAll('-', '[^a-z0-9]'));
  return `(?i)^(${names.join('|')})$`;
}
