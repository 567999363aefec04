import { gitLengths, gitPatterns } from '../../runtime/domain/git-source.ts';
import { publicKeyMax, publicKeyPattern } from '../../runtime/domain/public-key.ts';
import type { StructuralSchema } from './structural-schema.ts';

/**
 * Adds patterns for the parts of a git source, for objects that are not created through the management API: no text that git
 * or a shell could interpret as an option or a command, and no password.
 */
export function refineGitSource(schema: StructuralSchema): void {
  const { url, branch, path, dockerfile, commit, hostKeys } = schema.properties ?? {};
  const parts = [
    [url, 'url'],
    [branch, 'branch'],
    [path, 'path'],
    [dockerfile, 'path'],
    [commit, 'commit'],
  ] as const;
  if (hostKeys?.items) Object.assign(hostKeys.items, { maxLength: publicKeyMax, pattern: publicKeyPattern });
  for (const [part, rule] of parts) {
    if (part) Object.assign(part, { maxLength: gitLengths[rule], pattern: gitPatterns[rule] });
  }
}
