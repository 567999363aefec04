/** Every character other than a letter or digit that HTTP allows in a header's name (RFC 9110 §5.6.2). */
export const separators = "!#$%&'*+-.^_`|~".split('');
const names = ['X-Svc-Key-Prefix', 'X-Svc-Key-Name', 'X-API-Key', 'RateLimit-Policy'];

/** The forged value in {@link forgeries}. */
export const forged = 'forged';

/** The headers that only the gate sets, in every spelling except the key itself, each with {@link forged}. */
export function forgeries(): Record<string, string> {
  const spellings = separators.flatMap((separator) => [
    ...names.map((name) => name.replaceAll('-', separator)),
    ...names.map((name) => name.toLowerCase().replace('-', separator)),
    ...names.map((name) => name.toUpperCase().replace(/-(?=[^-]*$)/, separator)),
  ]);
  return Object.fromEntries(
    [...spellings, 'RateLimit'].filter((name) => name.toLowerCase() !== 'x-api-key').map((name) => [name, forged]),
  );
}
