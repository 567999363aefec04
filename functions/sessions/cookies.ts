type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** The values of all cookies of a name. Of several, another host of the domain may have set one. */
export function cookiesOf(headers: Headers, name: string): string[] {
  const value = headers['cookie'];
  if (typeof value !== 'string') return [];
  return value
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
}

/** Creates `Set-Cookie` values that only the API's own origin sends, and scripts cannot read. */
export function createCookieWriter(baseUrl: string) {
  const secure = baseUrl.startsWith('https:') ? ['Secure'] : [];
  return (name: string, value: string, maxAgeSeconds: number): string =>
    [`${name}=${value}`, `Max-Age=${maxAgeSeconds}`, 'Path=/', 'HttpOnly', 'SameSite=Strict', ...secure].join('; ');
}
