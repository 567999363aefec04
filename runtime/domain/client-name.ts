/** Browsers by what their User-Agent contains. Most contain also the words of those below them. */
const browsers = [
  ['Edg', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['FxiOS/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['CriOS/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;

/** Operating systems, as {@link browsers}. */
const systems = [
  ['Windows', 'Windows'],
  ['Android', 'Android'],
  ['iPhone', 'iOS'],
  ['iPad', 'iOS'],
  ['Mac OS X', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const;

/**
 * The browser and the operating system of a User-Agent header, such as `Firefox on Linux`, or `svc` for the command line;
 * undefined for other programs. Versions and all other text of the header are left out, because nobody needs them. Pure.
 */
export function clientName(userAgent: unknown): string | undefined {
  if (typeof userAgent !== 'string') return undefined;
  if (userAgent.startsWith('svc/')) return 'svc';
  const [browser, system] = [browsers, systems].map((names) => names.find(([word]) => userAgent.includes(word))?.[1]);
  if (browser === undefined) return undefined;
  return system === undefined ? browser : `${browser} on ${system}`;
}
