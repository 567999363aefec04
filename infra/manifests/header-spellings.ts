/**
 * A regular expression in Go's syntax, which Traefik takes, that matches these headers in every spelling that a server or
 * gateway interface may read as the same name, such as `x_svc-key.name`: some replace every character other than letters
 * and digits with an underscore. It ignores case, as HTTP does. Pure.
 */
export function spellingsPattern(headers: readonly string[]): string {
  const names = headers.map((header) => header.toLowerCase().replaceAll('-', '[^a-z0-9]'));
  return `(?i)^(${names.join('|')})$`;
}

/** The separators that common servers and gateway interfaces (CGI, WSGI, PHP) read as the same character. */
const separators = ['-', '_', '.'];

/** These headers with every mixture of the separators that servers may read as `-`, for where no pattern is possible. Pure. */
export function spellingsOf(headers: readonly string[]): string[] {
  return headers.flatMap((header) =>
    header
      .split('-')
      .reduce<string[]>(
        (starts, part) =>
          starts.length === 0
            ? [part]
            : starts.flatMap((start) => separators.map((separator) => `${start}${separator}${part}`)),
        [],
      ),
  );
}
