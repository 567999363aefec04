/** What servers and gateway interfaces are known to read as a hyphen in a header's name. */
const separators = ['-', '_', '.', '~'];

/**
 * Every other spelling of a header that an app may take for it, such as `X_Svc-Key.Name`. HTTP does not tell cases apart,
 * so none is listed twice for that. Pure.
 */
export function aliasSpellings(header: string): string[] {
  const [first = '', ...rest] = header.split('-');
  const all = rest.reduce<string[]>(
    (spellings, part) => spellings.flatMap((start) => separators.map((separator) => start + separator + part)),
    [first],
  );
  return all.filter((spelling) => spelling !== header);
}
