/** What stands in place of an email address. */
const mask = '[user]';

/** Fields in which the API names a user, whose address can have another form than those that are recognized in texts. */
const userFields: ReadonlySet<string> = new Set(['actor', 'createdBy', 'updatedBy', 'email', 'user']);

/**
 * A text without email addresses, which are personal data. What only looks like one stays: a digest of an image, a package
 * with its version, a git server. It takes time in proportion to the text. @param field the name of the text's field
 */
export function withoutUsers(text: string, field = ''): string {
  if (!text.includes('@')) return text;
  if (userFields.has(field)) return mask;
  return text.replaceAll(/[^\s"'`,;:()<>[\]{}|=/\\]+/g, (word) => (isAddress(word) ? mask : word));
}

function isAddress(word: string): boolean {
  const at = word.lastIndexOf('@');
  const [name, domain] = [word.slice(0, Math.max(at, 0)), word.slice(at + 1)];
  if (name === '' || name === 'git' || /^sha\d{3}$/.test(domain)) return false;
  const labels = domain.split('.').filter((label) => label !== '');
  // The last label of a version begins with a digit, as that of an IP address does, which has four.
  return labels.length > 0 && (!/^\d/.test(labels.at(-1) ?? '') || labels.length === 4);
}
